"""Serves: JoinGroup (11), a member asks to be in a group and waits until all others have, too.

Versions: 0-9. Up to 6 there is no absent protocol, and it is empty instead.
"""

from __future__ import annotations

from typing import Final

from broker.context import Context
from broker.core.groups.joins import Joining
from broker.core.groups.rebalances import join_refused
from broker.handlers import Client, handles_client
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.groups import JoinGroupRequest, JoinGroupResponse

_ABSENT_PROTOCOL_SINCE: Final = 7


def refuse(request: JoinGroupRequest, version: int, error: KafkaError) -> JoinGroupResponse:
    """Put the code at the top; who may not join is not named."""
    is_forbidden = error.code is ErrorCode.GROUP_AUTHORIZATION_FAILED
    member_id = "" if is_forbidden else request.member_id
    return _response(join_refused(error.code, member_id), version)


@handles_client(JoinGroupRequest, "0-9", refuse=refuse)
async def handle(
    context: Context, request: JoinGroupRequest, version: int, client: Client
) -> JoinGroupResponse:
    """Join; the answer may take as long as the group's rebalance."""
    if not request.group_id:  # Before anybody asks who coordinates it.
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    unique = context.new_uuid()
    host = f"/{client.host}"  # As Java writes an address.
    joined: JoinGroupResponse = await context.groups.ask(
        request.group_id,
        lambda shard, waiter, now_ms, wall_ms: shard.members.join(
            Joining(waiter, request, version, client.id, host, unique), now_ms, wall_ms
        ),
    )
    return _response(joined, version)


def _response(joined: JoinGroupResponse, version: int) -> JoinGroupResponse:
    if version < _ABSENT_PROTOCOL_SINCE and joined.protocol_name is None:
        joined.protocol_name = ""
    return joined
