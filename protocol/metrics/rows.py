"""The metric tables: one frozen class per row, what nodes write as JSON lines and Spark reads.

It writes and reads nothing itself. A column is never null; where a value may be unknown its text
says so (-1, "").
A changed column means a new table version: the dump folder is ``<table>/v<TABLE_VERSION>/...``, and
who reads older dumps upcasts them. Every line on disk begins with the columns of ``RowOrigin``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, TypeAlias

TABLE_VERSION: Final = 2
NO_RUN: Final = "none"
"""``run_id`` of a process that nobody gave one, such as a broker started by hand."""
NO_SEED: Final = -1
NO_BROKER: Final = -1
"""``broker_id`` of a client."""


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
    """Client: each partition led from the log dir has taken a record again."""

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


class ReassignmentState(StrEnum):
    """The states of a partition's reassignment to other brokers."""

    UNDER_WAY = "under_way"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    """Taken back: what it added is gone."""
    REPLACED = "replaced"
    """By another one, which begins at that moment."""


class LatencyScope(StrEnum):
    """Whose time a latency row holds."""

    API = "api"
    """A broker's: ``name`` is the API, ``operation`` is "request"."""
    LOG_DIR = "log_dir"
    """A log dir's: ``name`` is its path; queueing counts."""
    CLIENT = "client"
    """A client's: ``name`` is the topic."""


class Operation(StrEnum):
    """What took the time of a latency row."""

    REQUEST = "request"
    READ = "read"
    APPEND = "append"
    SYNC = "sync"
    PRODUCE = "produce"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOrigin:
    """Where rows come from: the first columns of every line. Tables never mix two origins."""

    cluster_id: str = ""
    """Of the cluster file; "" in rows of version 1."""
    run_id: str = NO_RUN
    """One life of a cluster, from its first process to its last; never empty."""
    seed: int = NO_SEED
    """Of the simulated world; ``NO_SEED`` for a real one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirRow:
    """One sample of one log dir."""

    at_ms: WallMs
    interval_ms: Millis
    """Since this node's last sample: the time for which the row stands; -1 unknown."""
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
    interval_ms: Millis
    """Since this node's last sample of replicas; -1 unknown."""
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
    is_under_min_isr: bool
    """As the leader knows it; false on a follower."""
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
    throttle_bytes_per_s: Bytes
    """What all moves of the broker may copy together; -1: as fast as they can."""
    state: MoveState


@dataclass(frozen=True, slots=True, kw_only=True)
class ReassignmentProgressRow:
    """A reassignment of a partition as the controller sees it: at its begin, meanwhile, at its end.

    One that changes an order alone has no rows, for nothing is copied or removed.
    """

    at_ms: WallMs
    topic: str
    partition: int
    started_at_ms: WallMs
    """Since when the controller that writes this carries it out: the begin, or that one's start."""
    adding: tuple[int, ...]
    """The brokers that get a replica."""
    removing: tuple[int, ...]
    """The brokers whose replica goes in the end."""
    leader: int
    """-1 none."""
    throttle_bytes_per_s: Bytes
    """The smallest rate of the leader and of those it adds, as far as they are throttled; -1 none.
    """
    state: ReassignmentState


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


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyRow:
    """A histogram of what one operation took during one interval; histograms merge by summing."""

    at_ms: WallMs
    """The end of the interval."""
    interval_ms: Millis
    broker_id: int
    """``NO_BROKER`` for a client."""
    scope: LatencyScope
    name: str
    operation: Operation
    sample_count: Count
    sum_us: Micros
    max_us: Micros
    bucket_us: tuple[int, ...]
    """Largest value of each bucket that is not empty, ascending; the same bounds everywhere: exact
    below 16 us, then eight per power of two."""
    bucket_counts: tuple[int, ...]
    """How many values lie in each of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRow:
    """What one producing client saw of one partition during one interval."""

    at_ms: WallMs
    """The end of the interval."""
    interval_ms: Millis
    client: str
    topic: str
    partition: int
    acknowledged_count: Count
    failed_count: Count
    """Errors that reached the application."""
    silence_ms: Millis
    """The longest time without an acknowledgement that ended in this interval; 0: none did."""
    silence_ended_at_ms: WallMs
    """When; -1: none did."""


MetricRow: TypeAlias = (
    LogDirRow
    | ReplicaRow
    | FailoverEventRow
    | MoveProgressRow
    | ReassignmentProgressRow
    | RequestRow
    | LatencyRow
    | ClientRow
)

TABLES: Final[dict[str, type[MetricRow]]] = {
    "log_dir": LogDirRow,
    "replica": ReplicaRow,
    "failover_event": FailoverEventRow,
    "move_progress": MoveProgressRow,
    "reassignment_progress": ReassignmentProgressRow,
    "request": RequestRow,
    "latency": LatencyRow,
    "client": ClientRow,
}
TABLE_OF_ROW: Final[dict[type[MetricRow], str]] = {row: name for name, row in TABLES.items()}
