"""What handlers, lifecycle and control share: one broker's parts, as the types that they need.

The types are in ``engine_ports``, ``controller_ports``, ``config_ports`` and ``coordinator_ports``
beside. It builds nothing and decides nothing; ``broker.app`` fills it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from broker.client_gate import ClientGate
from broker.config_ports import (
    BrokerConfigSource,
    ConfigNewsPort,
    GroupConfigSource,
    TopicConfigSource,
)
from broker.controller_ports import ControllerPort, ProducerIdSource, TopicCreator
from broker.coordinator_ports import ShardsPort, TransactionsPort
from broker.coordinators.verifier import VerifierPort
from broker.core.client_quotas.client_quotas import ClientQuotas
from broker.core.delegation_tokens import TokensPort
from broker.core.fetch_session import FetchSessions
from broker.core.groups.group_shard import GroupShard
from broker.core.metadata_answer import MetadataAnswers
from broker.core.metadata_image import MetadataImage
from broker.engine.types import (
    FetchPart,
)
from broker.engine_ports import (
    DescribePort,
    FetchPort,
    LeadershipPort,
    MovesPort,
    OffsetsPort,
    ProducePort,
    RecordDeletionPort,
    StoppingPort,
)
from broker.metrics import Metrics
from broker.record_turns import RecordTurns
from broker.zookeeper.controller_behind import ControllerBehind
from protocol.acls.authorizer import Authorizer
from protocol.byte_budget import ByteBudget
from protocol.configs.broker import RESPONSE_BYTES_MAX
from protocol.configs.parsing import BrokerConfig, BrokerOverrides
from protocol.transport.turns import Turns


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
    check_listeners: Callable[[BrokerOverrides], None] = lambda _: None
    """Raises KafkaError for stores that this broker's listeners cannot be set to."""
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
    controller_behind: ControllerBehind | None = None
    """None: there is no ZooKeeper."""
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
    client_quotas: ClientQuotas
    metrics: Metrics
    authorizer: Authorizer | None = None
    delegation_tokens: TokensPort | None = None
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

    What is asked before that is meant for an earlier process.
    """

    @property
    def config(self) -> BrokerConfig:
        """What this broker is configured to now."""
        return self.broker_configs.config
