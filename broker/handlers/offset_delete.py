"""Serves: OffsetDelete (47), forgets offsets of a group (KIP-496).

Versions: 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker.context import Context
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.group_offsets import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def refuse(_request: OffsetDeleteRequest, _version: int, error: KafkaError) -> OffsetDeleteResponse:
    """Put the code at the top."""
    return OffsetDeleteResponse(error_code=error.code, topics=[])


@handles(OffsetDeleteRequest, "0", refuse=refuse)
async def handle(
    context: Context, request: OffsetDeleteRequest, _version: int
) -> OffsetDeleteResponse:
    """Delete what is known; partitions that nobody knows are answered by themselves."""
    if not request.group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    asked = [
        TopicPartition(topic.name, partition.partition_index)
        for topic in request.topics
        for partition in topic.partitions
    ]
    known = [tp for tp in asked if context.metadata.has_partition(tp)]
    codes: Sequence[ErrorCode] = await context.groups.ask(
        request.group_id,
        lambda shard, waiter, _now_ms, _wall_ms: shard.delete_offsets(
            waiter, request.group_id, known
        ),
        writes=True,
    )
    deleted = dict(zip(known, codes, strict=True))
    return OffsetDeleteResponse(
        error_code=ErrorCode.NONE,
        topics=[
            OffsetDeleteResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetDeleteResponsePartition(
                        partition_index=partition.partition_index,
                        error_code=deleted.get(
                            TopicPartition(topic.name, partition.partition_index),
                            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                        ),
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )
