"""Serves: ListOffsets (2), offsets by timestamp or by the special timestamps for start and end.

Differs from Kafka: version 0 answers with one offset, not with the base offsets of segments.
Versions: 0-11; the timeout of v10 (KIP-1075) is for offsets in tiered storage, which is not here.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from broker.context import Context
from broker.core.isolation_level import check_isolation_level
from broker.core.old_clients import list_offsets_error
from broker.engine.types import ListedOffset
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

_LEADER_EPOCH_SINCE: Final = 4
_SINCE: Final = {-1: 0, -2: 0, -3: 7, -4: 8, -5: 9, -6: 11}
"""Special timestamp -> the first version that may ask for it. Source: KIP-734, 405, 1005, 1023."""


def refuse(request: ListOffsetsRequest, version: int, error: KafkaError) -> ListOffsetsResponse:
    """Put the code into every partition."""
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    _answer(partition.partition_index, ListedOffset(error.code), version)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


@handles(ListOffsetsRequest, "0-11", refuse=refuse)
async def handle(
    context: Context, request: ListOffsetsRequest, version: int
) -> ListOffsetsResponse:
    """Answer each partition by itself; one that is listed twice is refused, but in version 0."""
    check_isolation_level(request.isolation_level)
    counts = Counter(
        TopicPartition(topic.name, partition.partition_index)
        for topic in request.topics
        for partition in topic.partitions
    )
    topics: list[ListOffsetsTopicResponse] = []
    for topic in request.topics:
        partitions: list[ListOffsetsPartitionResponse] = []
        for partition in topic.partitions:
            tp = TopicPartition(topic.name, partition.partition_index)
            if counts[tp] > 1 and version > 0:
                listed = ListedOffset(ErrorCode.INVALID_REQUEST)
            elif partition.timestamp < 0 and version < _SINCE.get(partition.timestamp, 99):
                listed = ListedOffset(ErrorCode.UNSUPPORTED_VERSION)
            else:
                listed = await _ask(context, request, tp, partition)
            partitions.append(_answer(tp.partition, listed, version))
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=partitions))
    return ListOffsetsResponse(topics=topics)


async def _ask(
    context: Context, request: ListOffsetsRequest, tp: TopicPartition, asked: ListOffsetsPartition
) -> ListedOffset:
    return await context.offsets.list_offsets(
        tp,
        asked.timestamp,
        current_leader_epoch=asked.current_leader_epoch,
        isolation_level=request.isolation_level,
        replica_id=request.replica_id,
    )


def _answer(index: int, listed: ListedOffset, version: int) -> ListOffsetsPartitionResponse:
    code = list_offsets_error(listed.error_code, version)
    response = ListOffsetsPartitionResponse(partition_index=index, error_code=code)
    if version == 0:
        response.old_style_offsets = [listed.offset] if listed.offset >= 0 else []
        return response
    response.timestamp = listed.timestamp
    response.offset = listed.offset
    if version >= _LEADER_EPOCH_SINCE:
        response.leader_epoch = listed.leader_epoch
    return response
