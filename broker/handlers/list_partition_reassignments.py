"""Serves: ListPartitionReassignments (46), by passing it on to the controller, as KRaft brokers do.

Differs from Kafka: no Envelope; the controller sees this broker as the client.
Versions: 0.
"""

from __future__ import annotations

from broker.context import Context
from broker.handlers import handles
from protocol.errors import KafkaError
from protocol.messages.reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)


def refuse(
    _request: ListPartitionReassignmentsRequest, _version: int, error: KafkaError
) -> ListPartitionReassignmentsResponse:
    """Put the code at the top; there is no other place."""
    return ListPartitionReassignmentsResponse(
        error_code=error.code, error_message=error.message or None
    )


@handles(ListPartitionReassignmentsRequest, "0", refuse=refuse)
async def handle(
    context: Context, request: ListPartitionReassignmentsRequest, version: int
) -> ListPartitionReassignmentsResponse:
    """Return the controller's answer."""
    answer: ListPartitionReassignmentsResponse = await context.controller.forward(
        request, version, timeout_ms=request.timeout_ms
    )
    return answer
