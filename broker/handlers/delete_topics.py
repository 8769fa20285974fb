"""Serves: DeleteTopics (20), by passing it on to the controller, as KRaft brokers do.

Differs from Kafka: no Envelope; the controller sees this broker as the client.
Versions: 0-6.
"""

from __future__ import annotations

from broker.context import Context
from broker.handlers import handles
from protocol.errors import KafkaError
from protocol.messages.topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)


def refuse(request: DeleteTopicsRequest, _version: int, error: KafkaError) -> DeleteTopicsResponse:
    """Put the code into every topic."""
    named = [DeleteTopicState(name=name) for name in request.topic_names]
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(
                name=topic.name,
                topic_id=topic.topic_id,
                error_code=error.code,
                error_message=error.message or None,
            )
            for topic in (*request.topics, *named)
        ]
    )


@handles(DeleteTopicsRequest, "0-6", refuse=refuse)
async def handle(
    context: Context, request: DeleteTopicsRequest, version: int
) -> DeleteTopicsResponse:
    """Return the controller's answer."""
    answer: DeleteTopicsResponse = await context.controller.forward(
        request, version, timeout_ms=request.timeout_ms
    )
    return answer
