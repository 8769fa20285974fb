"""Brokers, topics and partitions: how to ask for them by metadata, and what the answers tell.

Nothing is sent from here, and no error is judged: who asks decides what a topic's error means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID, TopicPartition
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
)
from protocol.messages.topic_partitions import (
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
)


@dataclass(frozen=True, slots=True)
class BrokerView:
    """A live broker, and where it listens."""

    id: int
    host: str
    port: int
    rack: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionView:
    """One partition, as a broker tells it."""

    topic: str
    partition: int
    leader: int
    """-1 when there is none."""
    leader_epoch: int
    replicas: tuple[int, ...]
    """The preferred leader first; while a reassignment goes on also those that come and go."""
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...]
    error_code: int
    elr: tuple[int, ...] | None = None
    """Eligible leader replicas; None when the broker does not tell."""
    last_known_elr: tuple[int, ...] | None = None

    @property
    def tp(self) -> TopicPartition:
        """Its topic and number."""
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicView:
    """One topic, as a broker tells it."""

    name: str
    """Empty for an id that the broker does not know."""
    topic_id: bytes
    is_internal: bool
    partitions: tuple[PartitionView, ...]
    """By number; of DescribeTopicPartitions those of one page."""
    error: ErrorCode = ErrorCode.NONE

    def partition(self, number: int) -> PartitionView | None:
        """Return one partition; None when there is no such number."""
        return next((each for each in self.partitions if each.partition == number), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """What one broker's metadata tells."""

    controller_id: int
    brokers: Mapping[int, BrokerView]
    """Those that are alive, sorted by id."""
    topics: tuple[TopicView, ...]
    """In the order of the answer."""
    broker: int = -1
    """Which one told it; -1: somebody at a bootstrap address, whose id is not known."""

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """The brokers that are alive, sorted."""
        return tuple(self.brokers)

    @property
    def racks(self) -> dict[int, str]:
        """The racks of the brokers that have one."""
        return {each.id: each.rack for each in self.brokers.values() if each.rack}

    @property
    def partitions(self) -> tuple[PartitionView, ...]:
        """The partitions of all topics."""
        return tuple(each for topic in self.topics for each in topic.partitions)

    @property
    def by_partition(self) -> dict[TopicPartition, PartitionView]:
        """The partitions of all topics, sorted."""
        return {each.tp: each for each in sorted(self.partitions, key=lambda each: each.tp)}

    @property
    def topic_ids(self) -> dict[str, bytes]:
        """The ids of the topics that are there."""
        return {each.name: each.topic_id for each in self.topics if each.error is ErrorCode.NONE}

    def partition(self, topic: str, partition: int) -> PartitionView:
        """Return one partition.

        Raises:
            KeyError: the metadata does not name it.
        """
        for view in self.partitions:
            if (view.topic, view.partition) == (topic, partition):
                return view
        raise KeyError(f"{topic}-{partition}")


def metadata_request(
    names: Sequence[str] | None = None, *, ids: Sequence[bytes] = ()
) -> MetadataRequest:
    """Ask for topics, which are not created by it: all by default, no topic with ``[]``.

    Args:
        names: of the topics; None for all.
        ids: of the topics, in place of names; brokers take them from version 12 on.
    """
    topics = None if names is None else [_named(name, ZERO_UUID) for name in names]
    return MetadataRequest(
        topics=[_named(None, topic_id) for topic_id in ids] or topics,
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )


def cluster_view(answer: MetadataResponse, *, told_by: int = -1) -> ClusterView:
    """Return what a broker answered; ``told_by`` is its id, where it is known."""
    brokers = sorted(answer.brokers, key=lambda each: each.node_id)
    return ClusterView(
        controller_id=answer.controller_id,
        brokers={
            each.node_id: BrokerView(each.node_id, each.host, each.port, each.rack)
            for each in brokers
        },
        topics=tuple(topic_views(answer)),
        broker=told_by,
    )


def topic_views(answer: MetadataResponse | DescribeTopicPartitionsResponse) -> list[TopicView]:
    """Return the topics of an answer in its order, each with its partitions by number."""
    return [
        TopicView(
            name=topic.name or "",
            topic_id=topic.topic_id,
            is_internal=topic.is_internal,
            partitions=tuple(
                _partition_view(topic.name or "", each)
                for each in sorted(topic.partitions, key=lambda each: each.partition_index)
            ),
            error=ErrorCode(topic.error_code),
        )
        for topic in answer.topics
    ]


def _named(name: str | None, topic_id: bytes) -> MetadataRequestTopic:
    return MetadataRequestTopic(topic_id=topic_id, name=name)


def _partition_view(
    topic: str, told: MetadataResponsePartition | DescribeTopicPartitionsResponsePartition
) -> PartitionView:
    has_elr = isinstance(told, DescribeTopicPartitionsResponsePartition)
    eligible = told.eligible_leader_replicas if has_elr else None
    last_known = told.last_known_elr if has_elr else None
    return PartitionView(
        topic=topic,
        partition=told.partition_index,
        leader=told.leader_id,
        leader_epoch=told.leader_epoch,
        replicas=tuple(told.replica_nodes),
        isr=tuple(told.isr_nodes),
        offline_replicas=tuple(told.offline_replicas),
        error_code=told.error_code,
        elr=None if eligible is None else tuple(eligible),
        last_known_elr=None if last_known is None else tuple(last_known),
    )
