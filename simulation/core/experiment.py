"""An experiment: one plan with holes, the values that go into them, and which seed runs which.

It reads no file and runs nothing. Every combination of the factors is a cell; seed N runs cell
N modulo their number, so that any stretch of seeds fills all cells alike.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import Any, TypeAlias, cast

from protocol.cluster_file.yaml import read_yaml
from simulation.core.dice import Streams
from simulation.core.plan import Plan
from simulation.core.plan_document import PlanError, parse_plan

Value: TypeAlias = str | int | float
_KEYS = ("name", "asks", "factors", "draws", "plan")


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What a file of ``simulation/experiments`` says."""

    name: str
    asks: str
    """The question."""
    factors: Mapping[str, Sequence[Value]]
    draws: Mapping[str, tuple[int, int]]
    """Whole numbers that each seed draws, from the first to the last."""
    text: str
    """A plan with ``$name`` for every factor and draw."""

    @property
    def cell_count(self) -> int:
        """How many combinations of factors there are."""
        return math.prod(len(values) for values in self.factors.values())

    def cell(self, seed: int) -> dict[str, str]:
        """Return the factors of a seed's run."""
        cells = itertools.product(*self.factors.values())
        values = next(itertools.islice(cells, seed % self.cell_count, None))
        return dict(zip(self.factors, map(str, values), strict=True))

    def plan(self, seed: int, streams: Streams) -> Plan:
        """Return the plan of a seed.

        Raises:
            PlanError: what is in the holes makes no plan.
        """
        chance = streams("experiment")
        drawn = {
            name: str(chance.randint(first, last)) for name, (first, last) in self.draws.items()
        }
        text = Template(self.text).substitute({**self.cell(seed), **drawn})
        return parse_plan(text, source=f"{self.name}, seed {seed}")


def parse_experiment(text: str, *, source: str, streams: Streams) -> Experiment:
    """Return the experiment that a text describes; the plan of every cell is tried.

    Raises:
        PlanError: lists the mistakes.
    """
    content, mistakes = _content(text, source)
    if not mistakes:
        mistakes = _shape_mistakes(content)
    if mistakes:
        raise PlanError(source, mistakes)
    experiment = Experiment(
        name=content["name"],
        asks=content["asks"],
        factors=content["factors"],
        draws={name: (first, last) for name, (first, last) in content.get("draws", {}).items()},
        text=content["plan"],
    )
    try:
        for seed in range(experiment.cell_count):
            experiment.plan(seed, streams)
    except (KeyError, ValueError) as error:
        if isinstance(error, PlanError):
            raise
        raise PlanError(source, [f"plan: no factor or draw for {error}"]) from error
    return experiment


# Any: what a YAML reader returns.
def _content(text: str, source: str) -> tuple[Any, list[str]]:
    try:
        return read_yaml(text)
    except ValueError as error:
        raise PlanError(source, [str(error)]) from error


def _shape_mistakes(content: Any) -> list[str]:
    if not isinstance(content, dict):
        return ["an experiment has name, asks, factors, draws (if any) and plan"]
    return _key_mistakes(cast("dict[str, Any]", content))


def _key_mistakes(content: Mapping[str, Any]) -> list[str]:
    mistakes = [f"{key}: an experiment has no such key" for key in content if key not in _KEYS]
    mistakes += [
        f"{key}: it is missing, or no text"
        for key in ("name", "asks", "plan")
        if not isinstance(content.get(key), str)
    ]
    if not _each(content.get("factors"), _is_filled):
        mistakes.append("factors: give each a list of values, such as `replicas: [2, 3]`")
    if not _each(content.get("draws", {}), _is_stretch):
        mistakes.append("draws: give each the first and the last number, such as `[0, 2000]`")
    return mistakes


def _each(values: Any, is_right: Callable[[Any], bool]) -> bool:
    """Tell whether ``values`` is a mapping whose values are all right."""
    if not isinstance(values, dict):
        return False
    return all(is_right(each) for each in cast("dict[str, Any]", values).values())


def _is_filled(value: Any) -> bool:
    return isinstance(value, list) and bool(cast("list[Any]", value))


def _is_stretch(value: Any) -> bool:
    match value:
        case [int(first), int(last)]:
            return first <= last
        case _:
            return False
