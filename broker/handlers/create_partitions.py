"""Serves: CreatePartitions (37), by passing it on to the controller, as KRaft brokers do.

Differs from Kafka: no Envelope; the controller sees this broker as the client.
Versions: 0-3.
"""

from __future__ import annotations

from broker.context import Context
from broker.handlers import handles
from protocol.errors import KafkaError
from protocol.messages.topics import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)


def refuse(
    request: CreatePartitionsRequest, _version: int, error: KafkaError
) -> CreatePartitionsResponse:
    """Put the code into every topic."""
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(
                name=topic.name, error_code=error.code, error_message=error.message or None
            )
            for topic in request.topics
        ]
    )


@handles(CreatePartitionsRequest, "0-3", refuse=refuse)
async def handle(
    context: Context, request: CreatePartitionsRequest, version: int
) -> CreatePartitionsResponse:
    """Return the controller's answer."""
    answer: CreatePartitionsResponse = await context.controller.forward(
        request, version, timeout_ms=request.timeout_ms
    )
    return answer
