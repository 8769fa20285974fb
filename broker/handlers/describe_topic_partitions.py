"""Serves: DescribeTopicPartitions (75), topics page by page, with offline replicas.

Differs from Kafka: offered beside LeaderAndIsr, which no release does; there are no eligible leader
replicas (KIP-966), so their lists are empty.
Versions: 0.
"""

from __future__ import annotations

from broker.context import Context
from broker.core.topic_partitions import describe_topic_partitions
from broker.handlers import handles
from protocol.errors import KafkaError
from protocol.messages.topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseTopic,
)


def refuse(
    request: DescribeTopicPartitionsRequest, _version: int, error: KafkaError
) -> DescribeTopicPartitionsResponse:
    """Put the code into every topic that was asked for."""
    return DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(
                error_code=error.code, name=topic.name, partitions=[]
            )
            for topic in request.topics
        ]
    )


@handles(DescribeTopicPartitionsRequest, "0", refuse=refuse)
async def handle(
    context: Context, request: DescribeTopicPartitionsRequest, _version: int
) -> DescribeTopicPartitionsResponse:
    """Answer from the metadata at hand."""
    return describe_topic_partitions(
        context.metadata,
        request,
        partitions_max=context.config.max_request_partition_size_limit,
    )
