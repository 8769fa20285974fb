"""What the controller knows and keeps: brokers, topics, partitions, replicas on offline log dirs.

Everything here is journaled: only the records of ``controller.core.records`` change it, so that a
replay gives the same state. What may be forgotten at a restart is in ``controller.core.run_state``.
Source: ControllerContext.scala; brokers as in KRaft's ClusterControlManager.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from protocol.acls.model import AclBinding
from protocol.client_quotas.entities import QuotaEntity, Quotas
from protocol.ids import NO_EPOCH, NO_LEADER, TopicPartition
from protocol.security.scram import ScramCredential

INITIAL_LEADER_EPOCH: Final = 0
INITIAL_PARTITION_EPOCH: Final = 0
EPOCH_STARTS_MAX: Final = 64


class Endpoint(NamedTuple):
    """One listener of a broker, as clients and brokers reach it."""

    name: str
    host: str
    port: int
    security_protocol: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """One registration. A fenced broker is registered and counts as dead."""

    broker_id: int
    broker_epoch: int
    incarnation: bytes
    endpoints: tuple[Endpoint, ...]
    """The first one is the inter-broker listener."""
    rack: str | None
    log_dirs: tuple[bytes, ...]
    """Directory ids that were online at the registration."""
    offline_log_dirs: tuple[bytes, ...] = ()
    cordoned_log_dirs: tuple[bytes, ...] | None = None
    """None: not reported, which counts as nothing cordoned."""
    is_fenced: bool = True
    is_shutting_down: bool = False

    @property
    def is_usable(self) -> bool:
        """Tell whether new replicas may be placed here."""
        return self.has_room and not (self.is_fenced or self.is_shutting_down)

    @property
    def has_room(self) -> bool:
        """Tell whether a registered log dir is neither offline nor cordoned.

        Source: KIP-1066; a broker that registered none counts as having one.
        """
        refused = (*self.offline_log_dirs, *(self.cordoned_log_dirs or ()))
        return not self.log_dirs or any(log_dir not in refused for log_dir in self.log_dirs)

    def endpoint(self, listener: str | None) -> Endpoint:
        """Return the listener of this name, else the inter-broker one."""
        return next((each for each in self.endpoints if each.name == listener), self.endpoints[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """Assignment and leadership of one partition."""

    replicas: tuple[int, ...]
    """The whole assignment, adding replicas included; the first one is the preferred leader."""
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    leader: int = NO_LEADER
    leader_epoch: int = NO_EPOCH
    """-1: no leadership was ever decided."""
    isr: tuple[int, ...] = ()
    partition_epoch: int = NO_EPOCH
    controller_epoch: int = NO_EPOCH
    """Of the controller that decided the leadership last."""
    is_recovering: bool = False
    """The leader was elected unclean and has not finished recovering."""

    @property
    def has_leadership(self) -> bool:
        """Whether leader, epochs and Isr were ever decided."""
        return self.leader_epoch != NO_EPOCH

    @property
    def target_replicas(self) -> tuple[int, ...]:
        """The assignment without the replicas that a reassignment removes."""
        if not self.removing_replicas:
            return self.replicas
        return tuple(r for r in self.replicas if r not in self.removing_replicas)

    @property
    def origin_replicas(self) -> tuple[int, ...]:
        """The assignment without the replicas that a reassignment adds."""
        if not self.adding_replicas:
            return self.replicas
        return tuple(r for r in self.replicas if r not in self.adding_replicas)

    @property
    def is_reassigning(self) -> bool:
        """Whether a reassignment is under way."""
        return bool(self.adding_replicas or self.removing_replicas)


@dataclass(slots=True, kw_only=True)
class Topic:
    """One topic; partitions are numbered from 0 without gaps."""

    name: str
    topic_id: bytes
    configs: dict[str, str]
    partitions: list[Partition] = field(default_factory=list[Partition])
    is_deleting: bool = False
    decision: int = 0
    """The number of the decision that made it; 0: nobody knows."""

    @property
    def keys(self) -> list[TopicPartition]:
        """The names of its partitions."""
        return [TopicPartition(self.name, number) for number in range(len(self.partitions))]


class UnknownReplica(NamedTuple):
    """What a broker goes on with and the journal does not know."""

    topic_id: bytes
    leader_epoch: int


@dataclass(slots=True)
class ClusterState:
    """The cluster as decided. Queries only; records change it."""

    cluster_id: str = ""
    controller_epoch: int = 0
    journal_number: int = 0
    """Of the last decision. It grows by one with each, also when the journal is compacted."""
    journal_id: bytes = b""
    """Which journal this is; a copy of it has the same."""
    epoch_starts: dict[int, int] = field(default_factory=dict[int, int])
    """Controller epoch -> the last decision of this journal before it; the newest epochs.

    The epoch's own decisions may have higher numbers than the next one: others may have heard of
    more, which this journal has lost.
    """
    lost_after: int = 0
    """Behind this decision others were lost, as a broker has heard of them; the newest such one."""
    next_broker_epoch: int = 1
    next_producer_id: int = 0
    brokers: dict[int, Broker] = field(default_factory=dict[int, Broker])
    topics: dict[str, Topic] = field(default_factory=dict[str, Topic])
    topic_names: dict[bytes, str] = field(default_factory=dict[bytes, str])
    hosted: dict[int, dict[TopicPartition, None]] = field(
        default_factory=dict[int, dict[TopicPartition, None]]
    )
    """Broker id -> the partitions assigned to it."""
    offline: dict[int, dict[TopicPartition, None]] = field(
        default_factory=dict[int, dict[TopicPartition, None]]
    )
    """Broker id -> its replicas on offline log dirs (Kafka: replicasOnOfflineDirs)."""
    group_configs: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """Group id -> what was set by AlterConfigs; no group without any."""
    dynamic_configs: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """Broker id as text, or ``ALL_BROKERS`` -> what was set by AlterConfigs.

    A change replaces the inner dict; it is never changed in place.
    """
    acls: dict[AclBinding, None] = field(default_factory=dict[AclBinding, None])
    """In the order in which they were created."""
    acls_generation: int = field(default=0, compare=False)
    """Grows with each change of ``acls``; a replay may come to another one."""
    scram_credentials: dict[str, dict[str, ScramCredential]] = field(
        default_factory=dict[str, dict[str, ScramCredential]]
    )
    """User -> mechanism -> what is stored; no user without any."""
    delegation_tokens: dict[str, str] = field(default_factory=dict[str, str])
    """By id, as brokers wrote them."""
    client_quotas: Quotas = field(default_factory=dict[QuotaEntity, dict[str, float]])
    reassigning: dict[TopicPartition, None] = field(default_factory=dict[TopicPartition, None])
    """The partitions being reassigned."""
    throttled_topics: dict[str, None] = field(default_factory=dict[str, None])
    """Topics whose lists of throttled replicas go when the reassignments are over."""
    throttled_brokers: dict[int, None] = field(default_factory=dict[int, None])
    """Brokers whose rates of throttled replication go then."""
    removed: dict[int, dict[TopicPartition, None]] = field(
        default_factory=dict[int, dict[TopicPartition, None]]
    )
    """Broker id -> what a reassignment took from it and it has not confirmed to be deleted."""
    unknown_replicas: dict[int, dict[TopicPartition, UnknownReplica]] = field(
        default_factory=dict[int, dict[TopicPartition, UnknownReplica]]
    )
    """Broker id -> what it goes on with and the journal lost; until the partition is led anew."""

    def find(self, tp: TopicPartition) -> Partition | None:
        """Return the partition, or None when it does not exist."""
        topic = self.topics.get(tp.topic)
        if topic is None or not 0 <= tp.partition < len(topic.partitions):
            return None
        return topic.partitions[tp.partition]

    def partition(self, tp: TopicPartition) -> Partition:
        """Return a partition that exists."""
        return self.topics[tp.topic].partitions[tp.partition]

    def partitions(self) -> Iterator[TopicPartition]:
        """Iterate over the names of all partitions."""
        for topic in self.topics.values():
            yield from topic.keys

    def is_deleting(self, topic_name: str) -> bool:
        """Tell whether the topic is queued for deletion."""
        topic = self.topics.get(topic_name)
        return topic is not None and topic.is_deleting

    def known_topic(self, topic_name: str) -> Topic | None:
        """Return a topic as long as brokers know its name; its deletion may wait."""
        return None if self.is_being_deleted(topic_name) else self.topics.get(topic_name)

    def is_being_deleted(self, topic_name: str) -> bool:
        """Tell whether the topic is queued for deletion and waits for no reassignment.

        Until its reassignments end a queued topic is one like any other: brokers know its name and
        id, its replicas are told of leaders and elected. Otherwise neither the reassignment nor the
        deletion might ever end. Kafka tells brokers at once that it has no leaders any more.
        """
        return self.is_deleting(topic_name) and not self.is_reassigning(topic_name)

    def is_reassigning(self, topic_name: str) -> bool:
        """Tell whether a partition of the topic is being reassigned."""
        return any(tp.topic == topic_name for tp in self.reassigning)

    def is_reachable(self, broker_id: int) -> bool:
        """Tell whether requests go to this broker: alive, perhaps shutting down."""
        broker = self.brokers.get(broker_id)
        return broker is not None and not broker.is_fenced

    def is_live(self, broker_id: int) -> bool:
        """Tell whether this broker is alive and not shutting down."""
        broker = self.brokers.get(broker_id)
        return broker is not None and not (broker.is_fenced or broker.is_shutting_down)

    def is_shutting_down(self, broker_id: int) -> bool:
        """Tell whether this broker is in a controlled shutdown."""
        broker = self.brokers.get(broker_id)
        return broker is not None and broker.is_shutting_down

    def is_replica_online(self, tp: TopicPartition, broker_id: int) -> bool:
        """Tell whether this replica can lead: its broker is live and its log dir is not offline."""
        return self.is_live(broker_id) and tp not in self.offline.get(broker_id, ())

    def is_replica_reachable(self, tp: TopicPartition, broker_id: int) -> bool:
        """Tell the same, with brokers in a controlled shutdown counted as live."""
        return self.is_reachable(broker_id) and tp not in self.offline.get(broker_id, ())

    def is_replica_deletable(self, tp: TopicPartition, broker_id: int) -> bool:
        """Tell whether this replica is online, or offline on a broker whose log dirs all work.

        Such a one was left out when another partition of its log dir was brought back alone
        (KIP-18): its broker refuses to host it, but can delete it.
        """
        is_whole = self.is_live(broker_id) and not self.brokers[broker_id].offline_log_dirs
        return is_whole or self.is_replica_online(tp, broker_id)

    def online_replicas(self, tp: TopicPartition) -> tuple[int, ...]:
        """Return the assigned replicas that are online, in the order of the assignment."""
        return tuple(r for r in self.partition(tp).replicas if self.is_replica_online(tp, r))

    def offline_replicas(self, tp: TopicPartition) -> list[int]:
        """Return the assigned replicas that are not online, in the order of the assignment."""
        return [r for r in self.partition(tp).replicas if not self.is_replica_online(tp, r)]

    def reachable_brokers(self) -> list[int]:
        """Return the ids of the brokers that requests go to, sorted."""
        return sorted(b.broker_id for b in self.brokers.values() if not b.is_fenced)

    def hosted_by(self, broker_id: int) -> list[TopicPartition]:
        """Return the partitions assigned to a broker."""
        return list(self.hosted.get(broker_id, ()))

    def led_partitions(self) -> list[TopicPartition]:
        """Return the partitions with leadership whose topic is not being deleted."""
        return [
            TopicPartition(topic.name, number)
            for topic in self.topics.values()
            if not self.is_being_deleted(topic.name)
            for number, partition in enumerate(topic.partitions)
            if partition.has_leadership
        ]
