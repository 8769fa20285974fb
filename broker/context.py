"""What handlers, lifecycle and control share: one broker's parts, as the types that they need.

It builds nothing and decides nothing; ``broker.app`` fills it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Protocol, TypeVar

from broker.client_gate import ClientGate
from broker.coordinators.shard_host import Decide
from broker.coordinators.verifier import VerifierPort
from broker.core.coordination import Shard
from broker.core.fetch_session import FetchSessions
from broker.core.groups.group_shard import GroupShard
from broker.core.metadata_answer import MetadataAnswers
from broker.core.metadata_image import MetadataImage
from broker.core.producer_entry import ProducerEntry
from broker.core.transaction_state.begin import BeginAsked
from broker.core.transaction_state.end import EndAsked
from broker.core.transaction_state.shard import Initialized, TransactionShard
from broker.engine.types import (
    DeletedRecords,
    EpochAnswer,
    FetchParams,
    FetchPart,
    FetchResult,
    ListedOffset,
    LogDirDescription,
    ProducePart,
    ProduceResult,
)
from broker.metrics import Metrics
from broker.record_turns import RecordTurns
from protocol.acls.authorizer import Authorizer
from protocol.byte_budget import ByteBudget
from protocol.configs.broker import RESPONSE_BYTES_MAX
from protocol.configs.parsing import BrokerConfig, BrokerOverrides, TopicConfig
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.control import (
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from protocol.transport.turns import Turns

ShardT_co = TypeVar("ShardT_co", bound=Shard, covariant=True)


class BrokerState(IntEnum):
    """Where a broker is in its life. Source: Kafka's BrokerState."""

    NOT_RUNNING = 0
    STARTING = 1
    RECOVERY = 2
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    SHUTTING_DOWN = 7


class BegunProduce(Protocol):
    """Records on their way; exactly one of ``results`` and ``abandon`` is called at the end."""

    @property
    def ready(self) -> asyncio.Future[None]:
        """Done when ``results`` can be called."""
        ...

    def results(self) -> list[ProduceResult]:
        """Return one result per part, in order."""
        ...

    def abandon(self) -> None:
        """Stop waiting: nobody will ask for results."""
        ...


class ProducePort(Protocol):
    """Appends records."""

    async def begin(
        self, parts: Sequence[ProducePart], *, acks: int, timeout_ms: int
    ) -> BegunProduce:
        """Append; what ``acks`` asks for may be waited for while the next produce is begun."""
        ...


class FetchPort(Protocol):
    """Reads records."""

    async def fetch(self, params: FetchParams, parts: Sequence[FetchPart]) -> list[FetchResult]:
        """Read and wait for ``min_bytes``; one result per part, in order."""
        ...


class OffsetsPort(Protocol):
    """Finds offsets by time and by leader epoch."""

    async def list_offsets(
        self,
        tp: TopicPartition,
        timestamp: int,
        *,
        current_leader_epoch: int,
        isolation_level: int,
        replica_id: int,
    ) -> ListedOffset:
        """Find the offset for a timestamp or for one of Kafka's special timestamps."""
        ...

    def offset_for_leader_epoch(
        self,
        tp: TopicPartition,
        *,
        current_leader_epoch: int,
        leader_epoch: int,
        replica_id: int,
    ) -> EpochAnswer:
        """Tell where a leader epoch ends."""
        ...


class RecordDeletionPort(Protocol):
    """Raises log start offsets."""

    async def delete(
        self, parts: Sequence[tuple[TopicPartition, int]], *, timeout_ms: int
    ) -> list[DeletedRecords]:
        """Delete what lies before each offset; one result per part, in order."""
        ...


class DescribePort(Protocol):
    """Tells what is hosted."""

    def log_dirs(self, topics: Mapping[str, Sequence[int]] | None) -> list[LogDirDescription]:
        """Describe every configured log dir; ``topics`` filters the replicas."""
        ...

    def producers(self, tp: TopicPartition) -> Sequence[ProducerEntry]:
        """Return the producers of a partition hosted here.

        Raises:
            KafkaError: why it is not online here.
        """
        ...


class MovesPort(Protocol):
    """Moves replicas between log dirs."""

    async def alter(
        self, parts: Sequence[tuple[TopicPartition, str]]
    ) -> dict[TopicPartition, ErrorCode]:
        """Start, change or cancel moves."""
        ...


class LeadershipPort(Protocol):
    """Takes roles, and what the cluster looks like."""

    async def leader_and_isr(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        """Expects ``topic_states``; the answer has both layouts filled."""
        ...

    def update_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        """Expects ``topic_states``."""
        ...


class StoppingPort(Protocol):
    """Ends replicas."""

    async def stop_replica(self, request: StopReplicaRequest) -> StopReplicaResponse:
        """Expects ``topic_states``."""
        ...


class ControllerPort(Protocol):
    """How handlers reach the controller on behalf of a client."""

    async def forward(self, request: Any, version: int, *, timeout_ms: int) -> Any:
        """Pass ``request`` on at the same version and return the controller's answer.

        Raises:
            KafkaError: REQUEST_TIMED_OUT, when the controller did not answer in time.
        """
        ...


class ProducerIdSource(Protocol):
    """Where producer ids come from."""

    async def next_producer_id(self) -> int:
        """Return an id that no producer of the cluster has had.

        Raises:
            KafkaError: COORDINATOR_LOAD_IN_PROGRESS, when no block of ids could be had.
        """
        ...


class TopicConfigSource(Protocol):
    """The configurations of topics, as the controller keeps them."""

    def config_of(self, topic: str) -> TopicConfig:
        """Return the effective config as far as it is known; the broker's defaults otherwise."""
        ...

    async def ensure(self, topics: Iterable[str]) -> None:
        """Fetch those that are not known yet; gives up after a bounded time and leaves defaults."""
        ...

    async def overrides(self, topic: str) -> Mapping[str, str]:
        """Return the topic's own settings by Kafka's names.

        Raises:
            KafkaError: the controller's answer, or REQUEST_TIMED_OUT.
        """
        ...


class BrokerConfigSource(Protocol):
    """The configuration of this broker."""

    @property
    def config(self) -> BrokerConfig:
        """The values in force."""
        ...

    @property
    def overrides(self) -> BrokerOverrides:
        """What is set, by where it was set."""
        ...


class GroupConfigSource(Protocol):
    """The configurations of groups, as the controller keeps them."""

    def groups(self) -> list[str]:
        """Return the groups that have settings of their own."""
        ...

    def overrides(self, group_id: str) -> Mapping[str, str]:
        """Return a group's own settings by Kafka's names."""
        ...


class ConfigNewsPort(Protocol):
    """Who is told that configurations changed."""

    async def told(self, request: UpdateMetadataRequest) -> None:
        """Look for news in an accepted UpdateMetadata and wait, bounded, until they are known."""
        ...


class TopicCreator(Protocol):
    """Creates topics that clients merely mention."""

    def create(self, names: Iterable[str]) -> None:
        """Ask the controller in the background."""
        ...


class ShardsPort(Protocol[ShardT_co]):
    """One kind of coordinator: the shards of its topic that this broker leads."""

    async def ask(self, key: str, decide: Decide[ShardT_co], *, writes: bool = False) -> Any:
        """Have the shard of a key decide and return the answer, when that is replicated.

        ``writes``: it will write for sure, so it is not even tried where the log takes nothing.

        Raises:
            KafkaError: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, or
                what ``decide`` raises.
        """
        ...

    def shard_of(self, key: str) -> ShardT_co:
        """Return the shard of a key, for questions that neither wait nor change anything.

        Raises:
            KafkaError: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS.
        """
        ...

    def shards(self) -> Iterator[ShardT_co]:
        """Give all that are led here, for questions that change nothing.

        Raises:
            KafkaError: COORDINATOR_LOAD_IN_PROGRESS, one is not loaded yet.
        """
        ...

    def partition_of(self, key: str) -> TopicPartition:
        """Return where a key belongs.

        Raises:
            KafkaError: COORDINATOR_NOT_AVAILABLE, the topic is not there.
        """
        ...

    def transaction_ended(self, tp: TopicPartition, producer_id: int, *, is_commit: bool) -> None:
        """A marker is in a partition of the topic: what was pending counts, or not."""
        ...


class TransactionsPort(Protocol):
    """The coordinator of transactions. Its methods are for what may need a new producer id.

    They raise KafkaError as ``shards.ask`` does, and COORDINATOR_LOAD_IN_PROGRESS when no id came.
    """

    @property
    def shards(self) -> ShardsPort[TransactionShard]:
        """Who decides all else."""
        ...

    async def begin(self, asked: BeginAsked) -> Initialized:
        """InitProducerId."""
        ...

    async def end(self, transactional_id: str, asked: EndAsked) -> Initialized:
        """Commit or abort; answered when that is decided for good."""
        ...


@dataclass(slots=True, kw_only=True)
class Context:
    """One broker, as its handlers see it."""

    broker_id: int
    cluster_id: str
    release: str | None = None
    """The Kafka release that is shown, such as "2.4"; None shows everything that is served."""
    cluster_release: str | None = None
    """Of its oldest broker, by which the cluster's features are finalized; None: the newest."""
    broker_configs: BrokerConfigSource
    config_news: ConfigNewsPort
    metadata: MetadataImage
    """What UpdateMetadata told; the engine's."""
    produces: ProducePort
    fetches: FetchPort
    offsets: OffsetsPort
    record_deletions: RecordDeletionPort
    describe: DescribePort
    moves: MovesPort
    leadership: LeadershipPort
    stopping: StoppingPort
    metadata_answers: MetadataAnswers
    controller: ControllerPort
    producer_ids: ProducerIdSource
    topic_configs: TopicConfigSource
    group_configs: GroupConfigSource
    auto_topics: TopicCreator
    groups: ShardsPort[GroupShard]
    transactions: TransactionsPort
    verifier: VerifierPort
    fetch_sessions: FetchSessions[FetchPart]
    client_gate: ClientGate
    """Opened by the first UpdateMetadata that is taken."""
    metrics: Metrics
    authorizer: Authorizer | None = None
    loop_ms: Callable[[], int]
    """Milliseconds of the event loop's clock."""
    new_uuid: Callable[[], str]
    """Gives a random uuid as text, for the ids of members."""
    wall_ms: Callable[[], int]
    """Milliseconds of the wall clock, for the timestamps of records."""
    elapsed_us: Callable[[], int]
    """Microseconds from any start, for latencies only."""
    turns: Turns = field(default_factory=Turns)
    """For large work, which is done in steps."""
    answers: ByteBudget = field(default_factory=lambda: ByteBudget(RESPONSE_BYTES_MAX))
    """What answers to consumers may hold."""
    record_turns: RecordTurns
    """For long work on records."""
    journal_heard: Callable[[Any], None]
    """Takes every request of a controller: which decision of its journal is behind it."""
    until_epoch_known: Callable[[], Awaitable[None]]
    """Returns once the controller has given this process its broker epoch.

    Requests of a controller wait for it: what comes before is meant for an earlier process.
    """

    @property
    def config(self) -> BrokerConfig:
        """What this broker is configured to now."""
        return self.broker_configs.config
