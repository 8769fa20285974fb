"""Serves: ConsumerGroupHeartbeat (68), members of the consumer protocol join, go on, leave.

Versions: 0-1. From 1 on members make their ids themselves and may subscribe by regular expression.
Source: KIP-848.
"""

from __future__ import annotations

from broker.context import Context
from broker.core.groups.consumer.consumer_answers import require_protocol
from broker.core.groups.consumer.consumer_heartbeats import Heartbeating
from broker.handlers import Client, handles_client
from protocol.errors import ErrorCode, KafkaError, told_text
from protocol.messages.consumer_groups import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


def refuse(
    _request: ConsumerGroupHeartbeatRequest, _version: int, error: KafkaError
) -> ConsumerGroupHeartbeatResponse:
    """Put the code at the top, with what is wrong."""
    return ConsumerGroupHeartbeatResponse(
        error_code=error.code,
        error_message=told_text(error),
        member_epoch=0,
        heartbeat_interval_ms=0,
    )


@handles_client(ConsumerGroupHeartbeatRequest, "0-1", refuse=refuse)
async def handle(
    context: Context, request: ConsumerGroupHeartbeatRequest, version: int, client: Client
) -> ConsumerGroupHeartbeatResponse:
    """Answer at once; when something changed, once that is replicated."""
    require_protocol(context.cluster_release, context.config)
    if not request.group_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "GroupId can't be empty.")
    host = f"/{client.host}"  # As Java writes an address.
    heartbeating = Heartbeating(request, version, client.id, host, context.new_uuid())
    told: ConsumerGroupHeartbeatResponse = await context.groups.ask(
        request.group_id,
        lambda shard, waiter, now_ms, wall_ms: shard.members.beat(
            waiter, heartbeating, now_ms, wall_ms
        ),
    )
    return told
