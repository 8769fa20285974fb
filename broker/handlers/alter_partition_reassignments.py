"""Serves: AlterPartitionReassignments (45), by passing it on to the controller, as in KRaft.

Differs from Kafka: no Envelope; the controller sees this broker as the client.
Versions: 0-1; v1 can ask for the replication factor to stay as it is (KIP-860).
"""

from __future__ import annotations

from broker.context import Context
from broker.handlers import handles
from protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from protocol.refusals import refuse_reassignments


@handles(AlterPartitionReassignmentsRequest, "0-1", refuse=refuse_reassignments)
async def handle(
    context: Context, request: AlterPartitionReassignmentsRequest, version: int
) -> AlterPartitionReassignmentsResponse:
    """Return the controller's answer."""
    answer: AlterPartitionReassignmentsResponse = await context.controller.forward(
        request, version, timeout_ms=request.timeout_ms
    )
    return answer
