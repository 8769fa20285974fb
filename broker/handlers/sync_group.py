"""Serves: SyncGroup (14), a member asks for its assignment; the leader brings those of all.

Versions: 0-5.
"""

from __future__ import annotations

from broker.context import Context
from broker.core.groups.rebalances import sync_refused
from broker.handlers import handles
from protocol.errors import KafkaError
from protocol.messages.groups import SyncGroupRequest, SyncGroupResponse


def refuse(_request: SyncGroupRequest, _version: int, error: KafkaError) -> SyncGroupResponse:
    """Put the code at the top."""
    return sync_refused(error.code)


@handles(SyncGroupRequest, "0-5", refuse=refuse)
async def handle(context: Context, request: SyncGroupRequest, version: int) -> SyncGroupResponse:
    """Wait for the leader's assignment, and until it is replicated."""
    synced: SyncGroupResponse = await context.groups.ask(
        request.group_id,
        lambda shard, waiter, now_ms, wall_ms: shard.members.sync(
            waiter, request, version, now_ms, wall_ms
        ),
    )
    return synced
