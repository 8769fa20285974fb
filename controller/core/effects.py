"""What the controller wants done: the effects that ``Machine.step`` returns. The shell does them.

They are done in order and only after the records of the same step are durable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from protocol.ids import TopicPartition
from protocol.metrics.rows import FailoverStep, ReassignmentState


@dataclass(frozen=True, slots=True)
class ConnectBroker:
    """Open an empty channel to a broker, replacing any older one."""

    broker_id: int
    broker_epoch: int
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class DisconnectBroker:
    """Close the channel to a broker and drop what waits in it."""

    broker_id: int


@dataclass(frozen=True, slots=True)
class Send:
    """Put a request into a broker's channel, behind all earlier ones."""

    broker_id: int
    sequence: int
    """1 for the first request of the channel, without gaps."""
    request: Any


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer the one who waits under this token."""

    token: int
    response: Any


@dataclass(frozen=True, slots=True)
class Report:
    """Write a metric row: one step of one failover."""

    failure_id: str
    step: FailoverStep
    topic_count: int
    partition_count: int
    detail: str


@dataclass(frozen=True, slots=True)
class ReassignmentReport:
    """Write a metric row: how far the reassignment of a partition is."""

    tp: TopicPartition
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    leader: int
    throttle_bytes_per_s: int
    """-1: none."""
    state: ReassignmentState


@dataclass(frozen=True, slots=True)
class Note:
    """Write a log line."""

    text: str
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class End:
    """End this controller: going on would lose what brokers know."""

    reason: str


Effect: TypeAlias = (
    End | ConnectBroker | DisconnectBroker | Send | Answer | Report | ReassignmentReport | Note
)
