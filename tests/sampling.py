"""Which of the exhaustive tests ``make test`` runs: the seed draws some, ``--unsampled`` runs all.

A test that is marked ``sampled("part", kept=2)`` runs with two values of its parameter ``part``,
for every combination of its other parameters. All tests with the same word for ``together`` run
with the same values: those of a parameter that costs a cluster or a JVM each. Of the tests that are
marked ``sampled_among("spark", kept=1)``, wherever they stand, one runs. ``make unsampled`` leaves
nothing out; with ``--left-out`` a run has what the sample of its seed left out, and nothing else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

MARKER = "sampled"
AMONG = "sampled_among"


def left_out(items: Sequence[pytest.Item], seed: int) -> set[str]:
    """Return the node ids that a run with this seed does without."""
    # Of each group the candidates: names of tests, or of a parameter's values and its tests.
    groups: dict[tuple[str, ...], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    kept_of: dict[tuple[str, ...], int] = {}
    for item in items:
        for group, candidate, kept in _places(item):
            groups[group][candidate].append(item.nodeid)
            kept_of[group] = kept
    return {
        name
        for group, names_of in groups.items()
        for candidate in sorted(names_of.keys() - _drawn(group, names_of, kept_of[group], seed))
        for name in names_of[candidate]
    }


def _drawn(
    group: tuple[str, ...], candidates: dict[str, list[str]], kept: int, seed: int
) -> set[str]:
    return set(Random(f"{seed} {group}").sample(sorted(candidates), min(kept, len(candidates))))


def _places(item: pytest.Item) -> list[tuple[tuple[str, ...], str, int]]:
    """Return every group of a test, what it is a candidate as, and how many the group keeps."""
    places: list[tuple[tuple[str, ...], str, int]] = [
        ((AMONG, mark.args[0]), item.nodeid, mark.kwargs["kept"])
        for mark in item.iter_markers(AMONG)
    ]
    mark = item.get_closest_marker(MARKER)
    if mark is not None and isinstance(item, pytest.Function) and hasattr(item, "callspec"):
        params: dict[str, Any] = dict(item.callspec.params)
        value = _text(params.pop(mark.args[0]))
        others = sorted(f"{key}={_text(each)}" for key, each in params.items())
        alone = (item.nodeid.partition("[")[0], *others)
        together = mark.kwargs.get("together")
        places.append(((together,) if together else alone, value, mark.kwargs["kept"]))
    return places


def _text(value: object) -> str:
    """Name a value of a parameter: by its name if it has one, so that it is the same every time."""
    return str(getattr(value, "__name__", None) or getattr(value, "name", None) or value)
