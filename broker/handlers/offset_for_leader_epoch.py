"""Serves: OffsetForLeaderEpoch (23), where a leader epoch ends, for truncation.

Differs from Kafka: nothing known.
Versions: 0-4.
"""

from __future__ import annotations

from broker.context import Context
from broker.handlers import handles
from protocol.errors import KafkaError
from protocol.ids import TopicPartition
from protocol.messages.offsets import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


def refuse(
    request: OffsetForLeaderEpochRequest, _version: int, error: KafkaError
) -> OffsetForLeaderEpochResponse:
    """Put the code into every partition."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    EpochEndOffset(partition=partition.partition, error_code=error.code)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


@handles(OffsetForLeaderEpochRequest, "0-4", refuse=refuse)
async def handle(
    context: Context, request: OffsetForLeaderEpochRequest, _version: int
) -> OffsetForLeaderEpochResponse:
    """Answer each partition by itself."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    _answer(context, request.replica_id, topic.topic, partition)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _answer(
    context: Context, replica_id: int, topic: str, asked: OffsetForLeaderPartition
) -> EpochEndOffset:
    answer = context.offsets.offset_for_leader_epoch(
        TopicPartition(topic, asked.partition),
        current_leader_epoch=asked.current_leader_epoch,
        leader_epoch=asked.leader_epoch,
        replica_id=replica_id,
    )
    return EpochEndOffset(
        partition=asked.partition,
        error_code=answer.error_code,
        leader_epoch=answer.leader_epoch,
        end_offset=answer.end_offset,
    )
