"""Views of clusters, for tests of what reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from protocol.admin.cluster import BrokerView, ClusterView, PartitionView, TopicView
from protocol.admin.reassignments import ReassignmentView
from protocol.ids import TopicPartition


def cluster_of(
    partitions: Sequence[PartitionView],
    *,
    brokers: Sequence[int],
    racks: Mapping[int, str] | None = None,
) -> ClusterView:
    """A cluster with these partitions and live brokers, of which some may have racks."""
    by_topic: dict[str, list[PartitionView]] = {}
    for each in partitions:
        by_topic.setdefault(each.topic, []).append(each)
    return ClusterView(
        controller_id=brokers[0],
        brokers={each: BrokerView(each, "h", 1, (racks or {}).get(each)) for each in brokers},
        topics=tuple(
            TopicView(name=name, topic_id=bytes(16), is_internal=False, partitions=tuple(found))
            for name, found in by_topic.items()
        ),
    )


def topic(name: str, *replicas: tuple[int, ...]) -> TopicView:
    """A topic whose partitions have these replicas, all in sync."""
    partitions = tuple(
        partition(name, number, leader=each[0], replicas=each, isr=each)
        for number, each in enumerate(replicas)
    )
    return TopicView(name=name, topic_id=bytes(range(16)), is_internal=False, partitions=partitions)


def partition(
    topic: str,
    number: int,
    *,
    leader: int,
    replicas: tuple[int, ...],
    isr: tuple[int, ...],
    elr: tuple[tuple[int, ...], tuple[int, ...]] | None = None,
) -> PartitionView:
    """A partition; ``elr``: its eligible leader replicas, and the last known ones."""
    return PartitionView(
        topic=topic,
        partition=number,
        leader=leader,
        leader_epoch=0,
        replicas=replicas,
        isr=isr,
        offline_replicas=(),
        error_code=0,
        elr=elr[0] if elr else None,
        last_known_elr=elr[1] if elr else None,
    )


def reassignment(
    tp: TopicPartition,
    *,
    replicas: tuple[int, ...],
    adding: tuple[int, ...],
    removing: tuple[int, ...],
) -> ReassignmentView:
    """A reassignment under way."""
    return ReassignmentView(
        topic=tp.topic,
        partition=tp.partition,
        replicas=replicas,
        adding=adding,
        removing=removing,
    )
