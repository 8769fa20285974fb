"""Serves: CreatePartitions (37), by passing it on to the controller, as KRaft brokers do.

Differs from Kafka: no Envelope; the controller sees this broker as the client.
Versions: 0-3.
"""

from __future__ import annotations

from broker.context import Context
from broker.handlers import handles
from protocol.messages.topics import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
)
from protocol.refusals import refuse_create_partitions


@handles(CreatePartitionsRequest, "0-3", refuse=refuse_create_partitions)
async def handle(
    context: Context, request: CreatePartitionsRequest, version: int
) -> CreatePartitionsResponse:
    """Return the controller's answer."""
    answer: CreatePartitionsResponse = await context.controller.forward(
        request, version, timeout_ms=request.timeout_ms
    )
    return answer
