"""What a condition is judged in, and what a judgement is. Judges nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from protocol.ids import TopicPartition
from simulation.core.observation import Observation, ObservedPartition


class Judgement(NamedTuple):
    """Whether something holds."""

    holds: bool | None
    """None: nobody tells; then the contrary does not hold either."""
    says: str
    """What was seen, be it as wanted or not."""


class ObservationPair(NamedTuple):
    """What one broker tells, and what everybody sees."""

    now: Observation
    """With the metadata of one broker only."""
    since: Observation
    """As it was when the step began to look."""

    @property
    def partitions(self) -> Mapping[TopicPartition, ObservedPartition]:
        """The metadata that is judged."""
        for view in self.now.metadata.values():
            return view
        return {}


def is_between(value: float, exact: float | None, least: float | None, most: float | None) -> bool:
    """Tell whether a number is ``exact`` and within both bounds, as far as they are given."""
    return (
        exact in {None, value}
        and (least is None or value >= least)
        and (most is None or value <= most)
    )
