"""Serves: DeleteTopics (20), by passing it on to the controller, as KRaft brokers do.

Differs from Kafka: no Envelope; the controller sees this broker as the client.
Versions: 0-6.
"""

from __future__ import annotations

from broker.context import Context
from broker.handlers import handles
from protocol.messages.topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from protocol.refusals import refuse_delete_topics


@handles(DeleteTopicsRequest, "0-6", refuse=refuse_delete_topics)
async def handle(
    context: Context, request: DeleteTopicsRequest, version: int
) -> DeleteTopicsResponse:
    """Return the controller's answer."""
    answer: DeleteTopicsResponse = await context.controller.forward(
        request, version, timeout_ms=request.timeout_ms
    )
    return answer
