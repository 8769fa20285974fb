"""Serves: DescribeProducers (61), who writes to a partition and where its transaction began.

A transaction that hangs is seen here: it has a start offset and its last timestamp is old.
Differs from Kafka: producers come ordered by their ids.
Versions: 0.
"""

from __future__ import annotations

from typing import Final

from broker.context import Context
from broker.core.producer_entry import ProducerEntry
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.producer_ids import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from protocol.topic_names import is_topic_name

_INVALID_TOPIC: Final = "The request attempted to perform an operation on an invalid topic."


def refuse(
    request: DescribeProducersRequest, _version: int, error: KafkaError
) -> DescribeProducersResponse:
    """Put the code into every partition."""
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[_failed(index, error) for index in topic.partition_indexes],
            )
            for topic in request.topics
        ]
    )


@handles(DescribeProducersRequest, "0", refuse=refuse)
async def handle(
    context: Context, request: DescribeProducersRequest, _version: int
) -> DescribeProducersResponse:
    """Answer each partition by itself, whether it is led or followed here."""
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[_answer(context, topic.name, i) for i in topic.partition_indexes],
            )
            for topic in request.topics
        ]
    )


def _answer(context: Context, topic: str, index: int) -> PartitionResponse:
    if not is_topic_name(topic):
        return _failed(index, KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, _INVALID_TOPIC))
    if not context.metadata.has_topic(topic):
        text = "This server does not host this topic-partition."
        return _failed(index, KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text))
    try:
        entries = context.describe.producers(TopicPartition(topic, index))
    except KafkaError as error:
        return _failed(index, error)
    return PartitionResponse(
        partition_index=index,
        error_code=ErrorCode.NONE,
        active_producers=[_producer(entry) for entry in entries],
    )


def _producer(entry: ProducerEntry) -> ProducerState:
    return ProducerState(
        producer_id=entry.producer_id,
        producer_epoch=entry.producer_epoch,
        last_sequence=entry.last_sequence,
        last_timestamp=entry.timestamp,
        coordinator_epoch=entry.coordinator_epoch,
        current_txn_start_offset=entry.transaction_first_offset,
    )


def _failed(index: int, error: KafkaError) -> PartitionResponse:
    return PartitionResponse(
        partition_index=index,
        error_code=error.code,
        error_message=error.message or None,
        active_producers=[],
    )
