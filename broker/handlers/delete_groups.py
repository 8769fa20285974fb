"""Serves: DeleteGroups (42), ends groups that nobody is in, with their offsets (KIP-229).

Versions: 0-2.
"""

from __future__ import annotations

from broker.context import Context
from broker.core.groups.group_catalog import delete
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)


def refuse(request: DeleteGroupsRequest, _version: int, error: KafkaError) -> DeleteGroupsResponse:
    """Put the code into every group."""
    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id=group_id, error_code=error.code)
            for group_id in request.groups_names
        ]
    )


@handles(DeleteGroupsRequest, "0-2", refuse=refuse)
async def handle(
    context: Context, request: DeleteGroupsRequest, _version: int
) -> DeleteGroupsResponse:
    """Answer each group by itself, once; one whose name is empty is one like any other."""
    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id=group_id, error_code=await _deleted(context, group_id))
            for group_id in dict.fromkeys(request.groups_names)
        ]
    )


async def _deleted(context: Context, group_id: str) -> ErrorCode:
    try:
        code: ErrorCode = await context.groups.ask(
            group_id,
            lambda shard, waiter, _now_ms, _wall_ms: delete(shard, waiter, group_id),
            writes=True,
        )
    except KafkaError as error:
        return error.code
    return code
