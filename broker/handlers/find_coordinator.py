"""Serves: FindCoordinator (10), who coordinates a group or a transaction.

Versions: 0-6.
"""

from __future__ import annotations

from typing import Final

from broker.context import Context
from broker.core.internal_topics import coordinator_of
from broker.handlers import Client, handles_client
from protocol.errors import FORBIDDEN, ErrorCode, KafkaError
from protocol.messages.coordinators import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from protocol.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE

_BATCHES_SINCE: Final = 4
_MESSAGES_SINCE: Final = 1
_NO_NODE: Final = -1
_TOPICS: Final = {0: CONSUMER_OFFSETS, 1: TRANSACTION_STATE}
"""By key type."""
_SHARE_PARTITIONS: Final = 2
"""A key type that Kafka knows and refuses without a text."""


def refuse(
    request: FindCoordinatorRequest, version: int, error: KafkaError
) -> FindCoordinatorResponse:
    """Put the code into every key; before version 4 there is one, at the top."""
    keys = request.coordinator_keys if version >= _BATCHES_SINCE else [request.key]
    return _response([_not_found(key, error) for key in keys], version)


@handles_client(FindCoordinatorRequest, "0-6", refuse=refuse)
async def handle(
    context: Context, request: FindCoordinatorRequest, version: int, client: Client
) -> FindCoordinatorResponse:
    """Answer each key by itself; have the topic made that is not there."""
    keys = request.coordinator_keys if version >= _BATCHES_SINCE else [request.key]
    topic = _TOPICS.get(request.key_type)
    if topic is None:
        is_silent = request.key_type == _SHARE_PARTITIONS and version >= _BATCHES_SINCE
        text = f"There are no coordinators of type {request.key_type}."
        raise KafkaError(ErrorCode.INVALID_REQUEST, "" if is_silent else text)
    if not context.metadata.has_topic(topic):
        context.auto_topics.create([topic])
    return _response([_find(context, topic, key, client.listener) for key in keys], version)


def _find(context: Context, topic: str, key: str, listener: str) -> Coordinator:
    broker = coordinator_of(context.metadata, topic, key, listener)
    if broker is None:
        error = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "The coordinator is not available.")
        return _not_found(key, error)
    return Coordinator(
        key=key,
        node_id=broker.id,
        host=broker.host,
        port=broker.port,
        error_code=ErrorCode.NONE,
        error_message="",
    )


def _not_found(key: str, error: KafkaError) -> Coordinator:
    return Coordinator(
        key=key,
        node_id=_NO_NODE,
        host="",
        port=_NO_NODE,
        error_code=error.code,
        error_message=error.message,
    )


def _response(found: list[Coordinator], version: int) -> FindCoordinatorResponse:
    if version >= _BATCHES_SINCE:
        for each in found:
            if each.error_code in FORBIDDEN:
                each.error_message = ""
        return FindCoordinatorResponse(coordinators=found)
    (one,) = found
    return FindCoordinatorResponse(
        error_code=one.error_code,
        error_message=(one.error_message or "NONE") if version >= _MESSAGES_SINCE else None,
        node_id=one.node_id,
        host=one.host,
        port=one.port,
    )
