"""The metric tables: one frozen class per row, what nodes write as JSON lines and Spark reads.

It writes and reads nothing itself. A column is never null; where a value may be unknown its text
says so (-1, "").
A changed column means a new table version: the dump folder is ``<table>/v<TABLE_VERSION>/...``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, TypeAlias

TABLE_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of a column; it becomes column metadata in Spark."""

    name: str


WallMs: TypeAlias = Annotated[int, Unit("ms since epoch")]
"""Wall-clock time of the node that wrote the row. Clocks of two machines may disagree."""
Millis: TypeAlias = Annotated[int, Unit("ms")]
Micros: TypeAlias = Annotated[int, Unit("us")]
Bytes: TypeAlias = Annotated[int, Unit("bytes")]
Count: TypeAlias = Annotated[int, Unit("count")]
RecordOffset: TypeAlias = Annotated[int, Unit("offset")]


class FailoverStep(StrEnum):
    """The steps of one failover, declared in the order in which they happen."""

    LOG_DIR_FAILED = "log_dir_failed"
    """Broker: the log dir went offline. partition_count: replicas that went with it."""
    HEARTBEAT_SENT = "heartbeat_sent"
    """Broker: the heartbeat that names the log dir left."""
    CONTROLLER_NOTICED = "controller_noticed"
    """Controller: that heartbeat arrived."""
    REPLICAS_OFFLINE = "replicas_offline"
    """Controller: the probe was answered. partition_count: replicas found offline."""
    LEADERS_ELECTED = "leaders_elected"
    """Controller: the new leaders are journaled. partition_count: partitions whose leader moved."""
    BROKERS_TOLD = "brokers_told"
    """Controller: every live broker answered LeaderAndIsr and UpdateMetadata."""
    CLIENT_RECOVERED = "client_recovered"
    """Client: all its partitions on the log dir have a leader that answers."""

    @property
    def order(self) -> int:
        """Position in the failover, 0 for the first step."""
        return _STEP_ORDER[self]


_STEP_ORDER: Final = {step: order for order, step in enumerate(FailoverStep)}


class MoveState(StrEnum):
    """The states of a replica's move to another log dir."""

    COPYING = "copying"
    SWAPPING = "swapping"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirRow:
    """One sample of one log dir."""

    at_ms: WallMs
    broker_id: int
    broker_epoch: int
    log_dir: str
    """The absolute path."""
    directory_id: str
    """base64url; "" when it could not be read."""
    online: bool
    used_bytes: Bytes
    """What the replicas of this log dir take."""
    total_bytes: Bytes
    """Of the file system or the configured capacity; -1 unknown, as for an offline log dir."""
    usable_bytes: Bytes
    """-1 unknown."""
    replica_count: Count
    future_count: Count
    queue_depth_count: Count
    """Jobs waiting for this disk."""
    append_count_total: Count
    """Since the broker started."""
    append_bytes_total: Bytes
    """Since the broker started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaRow:
    """One sample of one hosted replica (or of its future log)."""

    at_ms: WallMs
    broker_id: int
    topic: str
    partition: int
    log_dir: str
    is_leader: bool
    is_future: bool
    leader_epoch: int
    log_start_offset: RecordOffset
    log_end_offset: RecordOffset
    high_watermark: RecordOffset
    isr_count: Count
    """As the leader knows it; -1 on a follower."""
    size_bytes: Bytes
    lag: RecordOffset
    """Follower: to the leader's high watermark; future log: to the current log; leader: 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailoverEventRow:
    """One step of one failover, seen by one node."""

    at_ms: WallMs
    node: str
    """``broker-<id>``, ``controller`` or ``client``."""
    failure_id: str
    """The same in all processes: ``protocol.ids.failure_id``."""
    step: FailoverStep
    topic_count: Count
    """-1 where the step does not count."""
    partition_count: Count
    """-1 where the step does not count; its meaning is the step's."""
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveProgressRow:
    """One sample of a replica's move; the first and the last state always get one."""

    at_ms: WallMs
    broker_id: int
    topic: str
    partition: int
    source_log_dir: str
    target_log_dir: str
    started_at_ms: WallMs
    """Tells two moves of one replica apart."""
    copied_bytes: Bytes
    total_bytes: Bytes
    """Size of the current log at this moment."""
    state: MoveState


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRow:
    """The requests of one API that one broker answered during one interval."""

    at_ms: WallMs
    """The end of the interval."""
    interval_ms: Millis
    broker_id: int
    api: str
    request_count: Count
    error_count: Count
    """Answers with an error code at any level."""
    p50_us: Micros
    """From the whole request read to the response handed to the transport, long polls included."""
    p99_us: Micros
    max_us: Micros
    received_bytes: Bytes
    sent_bytes: Bytes


MetricRow: TypeAlias = LogDirRow | ReplicaRow | FailoverEventRow | MoveProgressRow | RequestRow

TABLES: Final[dict[str, type[MetricRow]]] = {
    "log_dir": LogDirRow,
    "replica": ReplicaRow,
    "failover_event": FailoverEventRow,
    "move_progress": MoveProgressRow,
    "request": RequestRow,
}
TABLE_OF_ROW: Final[dict[type[MetricRow], str]] = {row: name for name, row in TABLES.items()}
