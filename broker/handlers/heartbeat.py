"""Serves: Heartbeat (12), a member tells that it lives and hears whether it has to join again.

Versions: 0-4.
"""

from __future__ import annotations

from broker.context import Context
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.groups import HeartbeatRequest, HeartbeatResponse


def refuse(_request: HeartbeatRequest, _version: int, error: KafkaError) -> HeartbeatResponse:
    """Put the code at the top; while the group is loaded all is well, as its sessions are anew."""
    is_loading = error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return HeartbeatResponse(error_code=ErrorCode.NONE if is_loading else error.code)


@handles(HeartbeatRequest, "0-4", refuse=refuse)
async def handle(context: Context, request: HeartbeatRequest, _version: int) -> HeartbeatResponse:
    """Renew the member's session."""
    if not request.group_id:  # Before anybody asks who coordinates it.
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    told: HeartbeatResponse = await context.groups.ask(
        request.group_id,
        lambda shard, waiter, now_ms, wall_ms: shard.members.heartbeat(
            waiter, request, now_ms, wall_ms
        ),
    )
    return told
