"""Serves: CreateTopics (19), by passing it on to the controller, as KRaft brokers do.

Differs from Kafka: no Envelope; the controller sees this broker as the client.
Versions: 0-7.
"""

from __future__ import annotations

from broker.context import Context
from broker.handlers import handles
from protocol.messages.topics import CreateTopicsRequest, CreateTopicsResponse
from protocol.refusals import refuse_create_topics


@handles(CreateTopicsRequest, "0-7", refuse=refuse_create_topics)
async def handle(
    context: Context, request: CreateTopicsRequest, version: int
) -> CreateTopicsResponse:
    """Return the controller's answer."""
    answer: CreateTopicsResponse = await context.controller.forward(
        request, version, timeout_ms=request.timeout_ms
    )
    return answer
