"""Which partitions belong to which broker: keeps those tables of the state in step.

Only records call it (``controller.core.records``); it decides nothing.
"""

from __future__ import annotations

from typing import TypeVar

from controller.core.state import ClusterState, Partition
from protocol.ids import TopicPartition

T = TypeVar("T")


def add_partitions(state: ClusterState, name: str, assignment: tuple[tuple[int, ...], ...]) -> None:
    """Add partitions with these replicas behind those that a topic has."""
    topic = state.topics[name]
    for replicas in assignment:
        tp = TopicPartition(name, len(topic.partitions))
        topic.partitions.append(Partition(replicas=replicas))
        host(state, tp, replicas)


def host(state: ClusterState, tp: TopicPartition, replicas: tuple[int, ...]) -> None:
    """Have brokers host a partition; what they were to delete of it stays."""
    for broker_id in replicas:
        state.hosted.setdefault(broker_id, {})[tp] = None
        drop(state.removed, broker_id, tp)


def unhost(state: ClusterState, tp: TopicPartition, replicas: tuple[int, ...]) -> None:
    """Have brokers host a partition no more."""
    for broker_id in replicas:
        drop(state.hosted, broker_id, tp)


def drop(by_broker: dict[int, dict[TopicPartition, T]], broker_id: int, tp: TopicPartition) -> None:
    """Take a partition out of one broker's entry; an empty entry goes."""
    known = by_broker.get(broker_id)
    if known is not None:
        known.pop(tp, None)
        if not known:
            del by_broker[broker_id]
