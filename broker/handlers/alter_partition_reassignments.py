"""Serves: AlterPartitionReassignments (45), by passing it on to the controller, as in KRaft.

Differs from Kafka: no Envelope; the controller sees this broker as the client.
Versions: 0-1; v1 can ask for the replication factor to stay as it is (KIP-860).
"""

from __future__ import annotations

from broker.context import Context
from broker.handlers import handles
from protocol.errors import KafkaError
from protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)


def refuse(
    request: AlterPartitionReassignmentsRequest, _version: int, error: KafkaError
) -> AlterPartitionReassignmentsResponse:
    """Put the code at the top and into every partition."""
    message = error.message or None
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_code=error.code,
        error_message=message,
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    ReassignablePartitionResponse(
                        partition_index=partition.partition_index,
                        error_code=error.code,
                        error_message=message,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


@handles(AlterPartitionReassignmentsRequest, "0-1", refuse=refuse)
async def handle(
    context: Context, request: AlterPartitionReassignmentsRequest, version: int
) -> AlterPartitionReassignmentsResponse:
    """Return the controller's answer."""
    answer: AlterPartitionReassignmentsResponse = await context.controller.forward(
        request, version, timeout_ms=request.timeout_ms
    )
    return answer
