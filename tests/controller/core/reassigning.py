"""Asking for reassignments and playing the replicas that catch up."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.messages.control import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    LeaderAndIsrRequest,
    PartitionData,
    StopReplicaRequest,
    TopicData,
)
from protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
    ReassignablePartition,
    ReassignableTopic,
)
from tests.controller.core.cluster import Cluster, three_brokers, tp


def with_topic(*replicas: list[int]) -> Cluster:
    """Return three brokers with topic t, whose first requests were taken."""
    cluster = three_brokers()
    cluster.create("t", *replicas)
    cluster.take()
    return cluster


def deleted_on(cluster: Cluster, broker_id: int) -> list[str]:
    """Return what the broker was told to delete since the last look."""
    return [
        f"{topic.topic_name}-{state.partition_index}"
        for request in cluster.take().get(broker_id, [])
        if isinstance(request, StopReplicaRequest)
        for topic in request.topic_states
        for state in topic.partition_states
        if state.delete_partition
    ]


def told_new(cluster: Cluster, broker_id: int) -> list[bool]:
    """Return isNew of each LeaderAndIsr state that the broker was sent since the last look."""
    return [
        state.is_new
        for request in cluster.take().get(broker_id, [])
        if isinstance(request, LeaderAndIsrRequest)
        for topic in request.topic_states
        for state in topic.partition_states
    ]


def wish(
    *wishes: tuple[str, Sequence[int] | None], is_factor_free: bool = True
) -> AlterPartitionReassignmentsRequest:
    """Return a request for (partition, replicas) pairs; None cancels."""
    return AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=is_factor_free,
        topics=[
            ReassignableTopic(
                name=tp(name).topic,
                partitions=[
                    ReassignablePartition(
                        partition_index=tp(name).partition,
                        replicas=None if replicas is None else list(replicas),
                    )
                ],
            )
            for name, replicas in wishes
        ],
    )


def alter(
    cluster: Cluster, *wishes: tuple[str, Sequence[int] | None], is_factor_free: bool = True
) -> AlterPartitionReassignmentsResponse:
    request = wish(*wishes, is_factor_free=is_factor_free)
    response: AlterPartitionReassignmentsResponse = cluster.call(request, 1)
    return response


def codes(response: AlterPartitionReassignmentsResponse) -> dict[str, int]:
    return {
        f"{topic.name}-{entry.partition_index}": entry.error_code
        for topic in response.responses
        for entry in topic.partitions
    }


def under_way(cluster: Cluster, *names: str) -> dict[str, tuple[list[int], list[int], list[int]]]:
    """Return replicas, adding and removing of what is listed; of everything without names."""
    topics = [
        ListPartitionReassignmentsTopics(
            name=tp(name).topic, partition_indexes=[tp(name).partition]
        )
        for name in names
    ]
    request = ListPartitionReassignmentsRequest(topics=topics or None)
    response: ListPartitionReassignmentsResponse = cluster.call(request, 0)
    assert (response.error_code, response.error_message) == (0, "")
    return {
        f"{topic.name}-{entry.partition_index}": (
            list(entry.replicas),
            list(entry.adding_replicas),
            list(entry.removing_replicas),
        )
        for topic in response.topics
        for entry in topic.partitions
    }


def set_isr(cluster: Cluster, name: str, isr: Sequence[int]) -> int:
    """Let the leader report a new Isr; return the code."""
    partition = cluster.partition(name)
    data = PartitionData(
        partition_index=tp(name).partition,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        new_isr_with_epochs=[BrokerState(broker_id=member) for member in isr],
    )
    topic_id = cluster.state.topics[tp(name).topic].topic_id
    response: AlterPartitionResponse = cluster.call(
        AlterPartitionRequest(
            broker_id=partition.leader,
            broker_epoch=cluster.state.brokers[partition.leader].broker_epoch,
            topics=[TopicData(topic_id=topic_id, partitions=[data])],
        ),
        3,
    )
    code: int = response.topics[0].partitions[0].error_code
    return code
