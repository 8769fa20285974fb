"""Which parameters of exhaustive tests ``make test`` runs: the seed draws some, ``--all`` runs all.

A test that is marked ``sampled("part", kept=2)`` runs with two values of its parameter ``part``,
for every combination of its other parameters. ``make test-all`` leaves nothing out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from random import Random

import pytest

MARKER = "sampled"


def left_out(items: Sequence[pytest.Item], seed: int) -> set[str]:
    """Return the node ids that a run with this seed does without."""
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    kept_of: dict[tuple[str, ...], int] = {}
    for item in items:
        mark = item.get_closest_marker(MARKER)
        if mark is not None and isinstance(item, pytest.Function):
            group = _group(item, mark.args[0])
            groups[group].append(item.nodeid)
            kept_of[group] = mark.kwargs["kept"]
    every = {name for names in groups.values() for name in names}
    return every - {
        name
        for group, names in groups.items()
        for name in _draw(sorted(names), kept_of[group], Random(f"{seed} {group}"))
    }


def _draw(names: list[str], kept: int, chance: Random) -> list[str]:
    return chance.sample(names, min(kept, len(names)))


def _group(item: pytest.Function, sampled: str) -> tuple[str, ...]:
    """Name the test and the values of its parameters that are not sampled."""
    others = {key: value for key, value in item.callspec.params.items() if key != sampled}
    values = [f"{key}={getattr(value, '__name__', value)}" for key, value in others.items()]
    return (item.nodeid.partition("[")[0], *sorted(values))
