"""Serves: SyncGroup (14), a member asks for its assignment; the leader brings those of all.

Versions: 0-5.
"""

from __future__ import annotations

from typing import Final

from broker.context import Context
from broker.core.groups.rebalances import sync_refused
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.groups import SyncGroupRequest, SyncGroupResponse

_PROTOCOLS_SINCE: Final = 5


def refuse(request: SyncGroupRequest, version: int, error: KafkaError) -> SyncGroupResponse:
    """Put the code at the top; that no protocol is named is told to who may not ask, too."""
    is_forbidden = error.code is ErrorCode.GROUP_AUTHORIZATION_FAILED
    if is_forbidden and _names_no_protocol(request, version):
        return sync_refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    return sync_refused(error.code)


@handles(SyncGroupRequest, "0-5", refuse=refuse)
async def handle(context: Context, request: SyncGroupRequest, version: int) -> SyncGroupResponse:
    """Wait for the leader's assignment, and until it is replicated."""
    if _names_no_protocol(request, version):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if not request.group_id:  # Before anybody asks who coordinates it.
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    synced: SyncGroupResponse = await context.groups.ask(
        request.group_id,
        lambda shard, waiter, now_ms, wall_ms: shard.members.sync(
            waiter, request, version, now_ms, wall_ms
        ),
    )
    return synced


def _names_no_protocol(request: SyncGroupRequest, version: int) -> bool:
    return version >= _PROTOCOLS_SINCE and None in (request.protocol_type, request.protocol_name)
