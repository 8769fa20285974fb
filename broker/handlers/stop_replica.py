"""Serves: StopReplica (5), which replicas this broker gives up or deletes.

Differs from Kafka: nothing known.
Versions: 0-4.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from broker.context import Context
from broker.handlers import handles
from protocol.errors import KafkaError
from protocol.messages.control import (
    StopReplicaPartitionError,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
    StopReplicaTopicState,
)

_STATES_SINCE: Final = 3


def refuse(request: StopReplicaRequest, version: int, error: KafkaError) -> StopReplicaResponse:
    """Put the code at the top and into every partition."""
    return StopReplicaResponse(
        error_code=error.code,
        partition_errors=[
            StopReplicaPartitionError(
                topic_name=topic.topic_name,
                partition_index=partition.partition_index,
                error_code=error.code,
            )
            for topic in _topic_states(request, version)
            for partition in topic.partition_states
        ],
    )


@handles(StopReplicaRequest, "0-4", refuse=refuse)
async def handle(
    context: Context, request: StopReplicaRequest, version: int
) -> StopReplicaResponse:
    """Bring old layouts into that of version 3 and let the engine act."""
    await context.until_epoch_known()
    context.journal_heard(request)
    request.topic_states = _topic_states(request, version)
    return await context.stopping.stop_replica(request)


def _topic_states(request: StopReplicaRequest, version: int) -> list[StopReplicaTopicState]:
    """Return one state per partition, grouped; before version 3 one delete flag holds for all."""
    if version >= _STATES_SINCE:
        return list(request.topic_states)
    indexes: dict[str, list[int]] = {}
    for topic in request.topics:
        indexes.setdefault(topic.name, []).extend(topic.partition_indexes)
    for partition in request.ungrouped_partitions:
        indexes.setdefault(partition.topic_name, []).append(partition.partition_index)
    return [
        StopReplicaTopicState(
            topic_name=topic,
            partition_states=_states(partitions, delete=request.delete_partitions),
        )
        for topic, partitions in indexes.items()
    ]


def _states(partitions: Iterable[int], *, delete: bool) -> list[StopReplicaPartitionState]:
    return [
        StopReplicaPartitionState(partition_index=index, leader_epoch=-1, delete_partition=delete)
        for index in partitions
    ]
