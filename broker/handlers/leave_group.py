"""Serves: LeaveGroup (13), members leave, or are removed by an admin.

Versions: 0-5. From 3 on several members, by member id or instance id (KIP-345).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from broker.context import Context
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.groups import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity

_SEVERAL_MEMBERS_SINCE: Final = 3


def refuse(_request: LeaveGroupRequest, _version: int, error: KafkaError) -> LeaveGroupResponse:
    """Put the code at the top."""
    return LeaveGroupResponse(error_code=error.code, members=[])


@handles(LeaveGroupRequest, "0-5", refuse=refuse)
async def handle(context: Context, request: LeaveGroupRequest, version: int) -> LeaveGroupResponse:
    """Have members leave; before version 3 the code of the only one stands at the top."""
    if not request.group_id:  # Before anybody asks who coordinates it.
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    has_several = version >= _SEVERAL_MEMBERS_SINCE
    members = request.members if has_several else [MemberIdentity(member_id=request.member_id)]
    leaving = replace(request, members=members)
    left: LeaveGroupResponse = await context.groups.ask(
        request.group_id,
        lambda shard, waiter, now_ms, wall_ms: shard.members.leave(
            waiter, leaving, now_ms, wall_ms
        ),
    )
    if has_several:
        return left
    codes = [left.error_code, *(member.error_code for member in left.members)]
    first = next((code for code in codes if code), ErrorCode.NONE)
    return LeaveGroupResponse(error_code=first, members=[])
