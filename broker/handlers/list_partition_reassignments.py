"""Serves: ListPartitionReassignments (46), by passing it on to the controller, as KRaft brokers do.

Differs from Kafka: no Envelope; the controller sees this broker as the client.
Versions: 0.
"""

from __future__ import annotations

from broker.context import Context
from broker.handlers import handles
from protocol.messages.reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from protocol.refusals import refuse_list_reassignments


@handles(ListPartitionReassignmentsRequest, "0", refuse=refuse_list_reassignments)
async def handle(
    context: Context, request: ListPartitionReassignmentsRequest, version: int
) -> ListPartitionReassignmentsResponse:
    """Return the controller's answer."""
    answer: ListPartitionReassignmentsResponse = await context.controller.forward(
        request, version, timeout_ms=request.timeout_ms
    )
    return answer
