"""What the engine takes and gives: the values of its public methods and the doors it needs.

No behaviour; the handlers translate these to and from Kafka's messages.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple, Protocol

from broker.core.append import RecordsSeen
from broker.core.isolation_level import READ_COMMITTED
from broker.core.record_errors import RecordError
from broker.core.transactions import EndMarker
from broker.core.verification import VerificationGuard
from broker.metrics import Counters
from broker.record_turns import RecordTurns
from protocol.byte_budget import ByteBudget
from protocol.configs.broker import RESPONSE_BYTES_MAX
from protocol.configs.parsing import TopicConfig
from protocol.connection import DEFAULT_LISTENER
from protocol.errors import ErrorCode
from protocol.ids import NO_EPOCH, TopicPartition
from protocol.messages.control import AlterPartitionRequest, AlterPartitionResponse
from protocol.metrics.rows import MetricRow
from protocol.ports import Buffer, RpcPort, WallClock
from protocol.witness import Witness, unwitnessed


class LeaderHint(NamedTuple):
    """Who leads, as far as this broker knows; sent with NOT_LEADER_OR_FOLLOWER."""

    leader_id: int
    leader_epoch: int


class ProducePart(NamedTuple):
    """The records of one partition of a Produce request, or a marker to be written there."""

    tp: TopicPartition
    records: memoryview
    """Writable: offsets are stamped in place. Must not change afterwards."""
    marker: EndMarker | None = None
    """What ``records`` say when a coordinator sent them."""
    received_bytes: int | None = None
    """How many bytes the client sent, where ``records`` were converted since."""
    seen: RecordsSeen | None = None
    """What was found in the records, where there are so many that they were looked at before."""
    is_coordinators: bool = False
    """Whether a coordinator of this broker writes ``records``, and no client."""
    guard: VerificationGuard | None = None
    """Of ``Produces.begin_verification``; None where nothing is to be verified."""


@dataclass(slots=True)
class ProduceResult:
    """The answer for one partition of a Produce request."""

    error_code: ErrorCode = ErrorCode.NONE
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    error_message: str | None = None
    record_errors: Sequence[RecordError] = ()
    """The records that were refused, when records and not the batch are at fault."""
    current_leader: LeaderHint | None = None


class FetchParams(NamedTuple):
    """What a Fetch request asks of all its partitions."""

    replica_id: int = -1
    """-1 for a consumer, else the broker id of the follower."""
    max_wait_ms: int = 0
    min_bytes: int = 0
    max_bytes: int = 0x7FFFFFFF
    isolation_level: int = 0
    """0 read uncommitted, 1 read committed."""
    client_rack: str = ""
    leader_only: bool = True
    """False for consumers that know how to read from any replica (KIP-392)."""
    replica_epoch: int = NO_EPOCH
    """The follower's broker epoch; -1 where it does not tell."""

    @property
    def is_committed(self) -> bool:
        """Whether a consumer asks for what is stable only; followers get everything."""
        return self.isolation_level == READ_COMMITTED and self.replica_id < 0


class FetchPart(NamedTuple):
    """One partition of a Fetch request."""

    tp: TopicPartition
    topic_id: bytes
    """All zero when the request names topics."""
    fetch_offset: int
    log_start_offset: int
    """The follower's; -1 from a consumer."""
    current_leader_epoch: int
    last_fetched_epoch: int
    max_bytes: int


class EpochEndOffset(NamedTuple):
    """Where a leader epoch ends on the leader's log."""

    epoch: int
    end_offset: int


class AbortedTransaction(NamedTuple):
    """One aborted transaction that overlaps a fetch."""

    producer_id: int
    first_offset: int


@dataclass(slots=True)
class FetchResult:
    """The answer for one partition of a Fetch request."""

    error_code: ErrorCode = ErrorCode.NONE
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    records: tuple[Buffer, ...] = ()
    """Whole batches, to be sent one after the other; empty is empty bytes on the wire, not null."""
    records_size_bytes: int = 0
    aborted: tuple[AbortedTransaction, ...] | None = None
    """None for read uncommitted."""
    diverging_epoch: EpochEndOffset | None = None
    preferred_read_replica: int = -1
    current_leader: LeaderHint | None = None


class DeletedRecords(NamedTuple):
    """The answer of DeleteRecords for one partition."""

    error_code: ErrorCode
    low_watermark: int = -1
    """The smallest log start offset of all live replicas."""


class ListedOffset(NamedTuple):
    """The answer to one ListOffsets question."""

    error_code: ErrorCode
    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = -1


class EpochAnswer(NamedTuple):
    """The answer to one OffsetForLeaderEpoch question."""

    error_code: ErrorCode
    leader_epoch: int = -1
    end_offset: int = -1


@dataclass(frozen=True, slots=True)
class ReplicaDescription:
    """One log in DescribeLogDirs."""

    tp: TopicPartition
    size_bytes: int
    offset_lag: int
    is_future: bool


@dataclass(frozen=True, slots=True)
class LogDirDescription:
    """One log dir in DescribeLogDirs."""

    path: str
    error_code: ErrorCode
    total_bytes: int
    """-1 unknown."""
    usable_bytes: int
    """-1 unknown."""
    is_cordoned: bool
    replicas: list[ReplicaDescription] = field(default_factory=list["ReplicaDescription"])
    awaited: tuple[TopicPartition, ...] = ()
    """Lost replicas that are to be made anew here and are not yet (KIP-18)."""


@dataclass(frozen=True, slots=True)
class FailedLogDir:
    """A log dir went offline; reported once per log dir."""

    path: str
    directory_id: bytes
    """All zero when it could never be read."""
    operation: str
    cause: str
    offline_replica_count: int


class EngineGauges(NamedTuple):
    """Counts for metrics, taken at one moment."""

    partition_count: int
    """Hosted partitions, the offline ones included."""
    leader_count: int
    """Online leaders."""
    offline_replica_count: int
    under_replicated_count: int
    """Online leaders only."""
    under_min_isr_count: int
    offline_log_dir_count: int
    move_count: int
    failed_fetch_count: int
    """Follower partitions set aside because of a local failure."""
    failed_move_count: int
    late_transaction_count: int
    """Online leaders with a transaction that was open for too long."""
    producer_id_count: int
    """Of all online replicas together."""


class CoordinatorEvents(Protocol):
    """What the engine tells coordinators. Calls must return at once."""

    def leads_internal(self, tp: TopicPartition, leader_epoch: int) -> None:
        """This broker leads a partition of an internal topic, perhaps in a new epoch only."""
        ...

    def leads_internal_no_more(self, tp: TopicPartition) -> None:
        """It follows, or has no such replica any more, or that is offline."""
        ...

    def partitions_deleted(self, tps: Sequence[TopicPartition]) -> None:
        """The controller told of a topic that is being deleted."""
        ...


class EngineEvents(CoordinatorEvents, Protocol):
    """What the engine tells the lifecycle. Calls must return at once and not call back."""

    def log_dir_failed(self, failed: FailedLogDir) -> None:
        """A log dir went offline: heartbeat at once."""
        ...

    def last_log_dir_failed(self, failed: FailedLogDir) -> None:
        """No log dir is left: end the process with its own exit code."""
        ...

    def topics_seen(self, topics: list[str]) -> None:
        """Partitions of these topics were hosted for the first time: their configs are wanted."""
        ...

    def moves_ended(self) -> None:
        """The last replica that was on its way to another log dir has arrived or been given up."""
        ...

    def isr_changed(self, tp: TopicPartition, old: list[int], new: list[int]) -> None:
        """The controller accepted a new Isr of a partition led here."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePorts:
    """The doors of the engine to the rest of the broker."""

    clock: WallClock
    random: Random
    connect: Callable[[str, int], RpcPort]
    """(host, port) -> a client that connects on first use."""
    send_alter_partition: Callable[[AlterPartitionRequest], Awaitable[AlterPartitionResponse]]
    """To the controller. May raise ConnectionError or TimeoutError; the engine repeats."""
    broker_epoch: Callable[[], int]
    topic_config: Callable[[str], TopicConfig]
    """From a cache; must not wait."""
    emit: Callable[[MetricRow], None]
    """Takes failover and move rows; must not wait."""
    events: EngineEvents
    answers: ByteBudget = field(default_factory=lambda: ByteBudget(RESPONSE_BYTES_MAX))
    """What answers to consumers' fetches may hold until they are sent."""
    answers_to_nodes: ByteBudget = field(default_factory=lambda: ByteBudget(RESPONSE_BYTES_MAX))
    """The same for followers'."""
    record_turns: RecordTurns
    """For long work on records."""
    counters: Counters
    witness: Witness = unwitnessed
    """Told of every move of the engine's state machines."""
    listener: str = DEFAULT_LISTENER
    """By which followers reach leaders."""
