"""The journaled decisions: each record applies itself to the state, and nothing else changes it.

They decide nothing. ``controller.core.snapshot`` gives those that rebuild a state from nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Protocol

from controller.core.acl_records import ACL_RECORDS, AclsReplaced
from controller.core.config_records import (
    BrokerConfigsChanged,
    ConfigsReplaced,
    GroupConfigsChanged,
    TopicConfigsChanged,
)
from controller.core.hosting import add_partitions, drop, unhost
from controller.core.journal_records import (
    BrokerEpochsRaised,
    DecisionsLost,
    EpochsRecalled,
    JournalBegun,
    UnknownReplicasReported,
)
from controller.core.quota_records import QUOTA_RECORDS
from controller.core.reassignment_records import (
    AssignmentChanged,
    RemovalsConfirmed,
    RemovalsPending,
    ThrottlesClaimed,
    ThrottlesReleased,
)
from controller.core.scram_records import SCRAM_RECORDS
from controller.core.state import EPOCH_STARTS_MAX, Broker, ClusterState, Endpoint, Partition, Topic
from controller.core.token_records import TOKEN_RECORDS
from controller.core.znode_clients import ClientConfigsReplaced
from protocol.ids import TopicPartition


class Record(Protocol):
    """One change of the state."""

    def apply(self, state: ClusterState) -> None:
        """Change ``state``; the same record on the same state always gives the same state."""
        ...


@dataclass(frozen=True, slots=True)
class ControllerStarted:
    """A controller took over with a new controller epoch."""

    cluster_id: str
    controller_epoch: int
    journal_number: int = 0
    """The number of the decision before this one, or a higher one that it goes on from."""

    def apply(self, state: ClusterState) -> None:
        """Set all three, and remember with which decision the journal ended before."""
        assert self.controller_epoch >= state.controller_epoch
        state.cluster_id = self.cluster_id
        state.controller_epoch = self.controller_epoch
        state.epoch_starts[self.controller_epoch] = state.journal_number
        state.journal_number = max(state.journal_number, self.journal_number)
        for epoch in sorted(state.epoch_starts)[:-EPOCH_STARTS_MAX]:
            del state.epoch_starts[epoch]


@dataclass(frozen=True, slots=True)
class BrokerRegistered:
    """A new incarnation of a broker registered; it is fenced until it heartbeats."""

    broker_id: int
    broker_epoch: int
    incarnation: bytes
    endpoints: tuple[Endpoint, ...]
    rack: str | None
    log_dirs: tuple[bytes, ...]

    def apply(self, state: ClusterState) -> None:
        """Replace any older registration and forget what its log dirs were."""
        known = state.brokers.get(self.broker_id)
        assert known is None or self.broker_epoch > known.broker_epoch
        assert self.endpoints
        state.brokers[self.broker_id] = Broker(
            broker_id=self.broker_id,
            broker_epoch=self.broker_epoch,
            incarnation=self.incarnation,
            endpoints=self.endpoints,
            rack=self.rack,
            log_dirs=self.log_dirs,
        )
        state.next_broker_epoch = max(state.next_broker_epoch, self.broker_epoch + 1)
        state.offline.pop(self.broker_id, None)


@dataclass(frozen=True, slots=True)
class BrokerUnfenced:
    """A broker is alive from now on."""

    broker_id: int

    def apply(self, state: ClusterState) -> None:
        """Take it in; which of its replicas are offline is asked anew."""
        broker = state.brokers[self.broker_id]
        state.brokers[self.broker_id] = replace(broker, is_fenced=False, is_shutting_down=False)
        state.offline.pop(self.broker_id, None)


@dataclass(frozen=True, slots=True)
class BrokerFenced:
    """A broker counts as dead from now on."""

    broker_id: int

    def apply(self, state: ClusterState) -> None:
        """Take it out."""
        broker = state.brokers[self.broker_id]
        state.brokers[self.broker_id] = replace(broker, is_fenced=True, is_shutting_down=False)
        state.offline.pop(self.broker_id, None)


@dataclass(frozen=True, slots=True)
class ShutdownBegun:
    """A broker is in a controlled shutdown."""

    broker_id: int

    def apply(self, state: ClusterState) -> None:
        """Mark it; it stays reachable."""
        broker = state.brokers[self.broker_id]
        state.brokers[self.broker_id] = replace(broker, is_shutting_down=True)


@dataclass(frozen=True, slots=True)
class LogDirsFailed:
    """A broker reported log dirs that went offline."""

    broker_id: int
    log_dirs: tuple[bytes, ...]

    def apply(self, state: ClusterState) -> None:
        """Add them to the offline ones."""
        broker = state.brokers[self.broker_id]
        assert set(self.log_dirs).isdisjoint(broker.offline_log_dirs)
        offline = (*broker.offline_log_dirs, *self.log_dirs)
        state.brokers[self.broker_id] = replace(broker, offline_log_dirs=offline)


@dataclass(frozen=True, slots=True)
class LogDirsReturned:
    """A live broker brought log dirs back and registered all that are online now."""

    broker_id: int
    log_dirs: tuple[bytes, ...]

    def apply(self, state: ClusterState) -> None:
        """Replace the set; one that is still offline is reported so by the next heartbeat."""
        state.brokers[self.broker_id] = replace(
            state.brokers[self.broker_id], log_dirs=self.log_dirs, offline_log_dirs=()
        )


@dataclass(frozen=True, slots=True)
class LogDirsCordoned:
    """A broker reported the whole set of its cordoned log dirs."""

    broker_id: int
    log_dirs: tuple[bytes, ...]

    def apply(self, state: ClusterState) -> None:
        """Replace the set."""
        broker = state.brokers[self.broker_id]
        state.brokers[self.broker_id] = replace(broker, cordoned_log_dirs=self.log_dirs)


@dataclass(frozen=True, slots=True)
class ReplicasProbed:
    """Replicas of one broker turned out to be offline, or online again."""

    broker_id: int
    offline: tuple[TopicPartition, ...]
    online: tuple[TopicPartition, ...]

    def apply(self, state: ClusterState) -> None:
        """Add the former, drop the latter."""
        assert set(self.offline).isdisjoint(self.online)
        known = state.offline.setdefault(self.broker_id, {})
        for tp in self.online:
            known.pop(tp, None)
        known.update(dict.fromkeys(self.offline))
        if not known:
            del state.offline[self.broker_id]


@dataclass(frozen=True, slots=True)
class TopicCreated:
    """A topic with its assignment; its partitions have no leadership yet."""

    name: str
    topic_id: bytes
    configs: dict[str, str]
    assignment: tuple[tuple[int, ...], ...]
    decision: int = 0
    """As ``Topic.decision``."""

    def apply(self, state: ClusterState) -> None:
        """Add it."""
        assert self.name not in state.topics
        assert self.topic_id not in state.topic_names
        topic = Topic(
            name=self.name,
            topic_id=self.topic_id,
            configs=dict(self.configs),
            decision=self.decision,
        )
        state.topics[self.name] = topic
        state.topic_names[self.topic_id] = self.name
        add_partitions(state, self.name, self.assignment)


@dataclass(frozen=True, slots=True)
class TopicFound(TopicCreated):
    """One that a broker of Apache Kafka has written into ZooKeeper itself, where it is by now."""


@dataclass(frozen=True, slots=True)
class PartitionsAdded:
    """A topic grew."""

    name: str
    assignment: tuple[tuple[int, ...], ...]
    """Of the new partitions only."""

    def apply(self, state: ClusterState) -> None:
        """Add them behind the existing ones."""
        add_partitions(state, self.name, self.assignment)


class Leadership(NamedTuple):
    """The whole leadership of one partition after a decision."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    controller_epoch: int
    is_recovering: bool


@dataclass(frozen=True, slots=True)
class LeadershipChanged:
    """Leader, epochs or Isr of partitions changed."""

    changes: tuple[Leadership, ...]

    def apply(self, state: ClusterState) -> None:
        """Replace the leadership of each; the journal knows their replicas from now on."""
        for change in self.changes:
            partitions = state.topics[change.topic].partitions
            known = partitions[change.partition]
            assert len(set(change.isr)) == len(change.isr)
            assert change.leader_epoch >= known.leader_epoch
            assert change.partition_epoch >= known.partition_epoch
            partitions[change.partition] = replace(
                known,
                leader=change.leader,
                leader_epoch=change.leader_epoch,
                isr=change.isr,
                partition_epoch=change.partition_epoch,
                controller_epoch=change.controller_epoch,
                is_recovering=change.is_recovering,
            )
            tp = TopicPartition(change.topic, change.partition)
            for broker_id in known.replicas:
                drop(state.unknown_replicas, broker_id, tp)


@dataclass(frozen=True, slots=True)
class DeletionQueued:
    """A topic is to be deleted."""

    name: str

    def apply(self, state: ClusterState) -> None:
        """Mark it."""
        state.topics[self.name].is_deleting = True


@dataclass(frozen=True, slots=True)
class TopicDeleted:
    """Every replica of a topic is gone, and so is the topic."""

    name: str

    def apply(self, state: ClusterState) -> None:
        """Forget it."""
        topic = state.topics.pop(self.name)
        del state.topic_names[topic.topic_id]
        state.throttled_topics.pop(self.name, None)
        for tp, partition in zip(topic.keys, topic.partitions, strict=True):
            state.reassigning.pop(tp, None)
            unhost(state, tp, partition.replicas)
            for broker_id in partition.replicas:
                drop(state.offline, broker_id, tp)


@dataclass(frozen=True, slots=True)
class ProducerIdsAllocated:
    """Producer ids below this one belong to brokers."""

    next_producer_id: int

    def apply(self, state: ClusterState) -> None:
        """Move on."""
        assert self.next_producer_id >= state.next_producer_id, "a block was given twice"
        state.next_producer_id = self.next_producer_id


RECORD_CLASSES: Final[tuple[type[Record], ...]] = (
    ControllerStarted,
    JournalBegun,
    EpochsRecalled,
    DecisionsLost,
    BrokerEpochsRaised,
    UnknownReplicasReported,
    BrokerRegistered,
    BrokerUnfenced,
    BrokerFenced,
    ShutdownBegun,
    LogDirsFailed,
    LogDirsReturned,
    LogDirsCordoned,
    ReplicasProbed,
    TopicCreated,
    TopicFound,
    PartitionsAdded,
    LeadershipChanged,
    AssignmentChanged,
    RemovalsPending,
    RemovalsConfirmed,
    ThrottlesClaimed,
    ThrottlesReleased,
    DeletionQueued,
    TopicDeleted,
    ProducerIdsAllocated,
    TopicConfigsChanged,
    BrokerConfigsChanged,
    GroupConfigsChanged,
    ConfigsReplaced,
    ClientConfigsReplaced,
    AclsReplaced,
    *ACL_RECORDS,
    *SCRAM_RECORDS,
    *TOKEN_RECORDS,
    *QUOTA_RECORDS,
)


def leadership_of(tp: TopicPartition, partition: Partition) -> Leadership:
    """Return the leadership that ``partition`` has now."""
    return Leadership(
        tp.topic,
        tp.partition,
        partition.leader,
        partition.leader_epoch,
        partition.isr,
        partition.partition_epoch,
        partition.controller_epoch,
        partition.is_recovering,
    )
