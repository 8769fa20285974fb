"""What somebody wants of a plan: the measure to even out, how far moves may go, what is emptied."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from jbodlab.rebalance.core.situation import LogDirId, Partition, Replica


class Goal(StrEnum):
    """The measure that is evened out over log dirs."""

    BYTES = "bytes"
    """Bytes on disk; log dirs of different sizes are filled alike."""
    PARTITIONS = "partitions"
    """How many replicas there are."""
    RATE = "rate"
    """Bytes written per second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """One question to the planner."""

    goal: Goal = Goal.BYTES
    between_brokers: bool = False
    """Whether replicas may change their broker; else they stay within it."""
    drained: frozenset[LogDirId] = frozenset()
    """Log dirs to be emptied; nothing else moves then."""
    drained_brokers: frozenset[int] = frozenset()
    """Brokers to be emptied; nothing else moves then."""
    reserve: float = 0.05
    """The part of each disk that is left free, 0 to 1."""
    tolerance: float = 0.05
    """How far over its fair share a log dir may be and still be left alone."""

    @property
    def is_drain(self) -> bool:
        """Whether it is about emptying rather than evening out."""
        return bool(self.drained or self.drained_brokers)

    def drains(self, at: LogDirId) -> bool:
        """Tell whether what lies there has to go."""
        return at in self.drained or at.broker in self.drained_brokers


def weight(goal: Goal, partition: Partition, replica: Replica) -> float:
    """Return what one replica adds to the load of its log dir."""
    match goal:
        case Goal.BYTES:
            return replica.size_bytes
        case Goal.PARTITIONS:
            return 1
        case Goal.RATE:
            return partition.write_rate
