"""Serves: ListGroups (16), the groups that this broker coordinates.

Versions: 0-5. From 4 on by state (KIP-518), from 5 on by type (KIP-848).
"""

from __future__ import annotations

from broker.context import Context
from broker.core.groups.group_catalog import list_groups
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.groups import ListGroupsRequest, ListGroupsResponse


def refuse(_request: ListGroupsRequest, _version: int, error: KafkaError) -> ListGroupsResponse:
    """Put the code at the top."""
    return ListGroupsResponse(error_code=error.code, groups=[])


@handles(ListGroupsRequest, "0-5", refuse=refuse)
async def handle(context: Context, request: ListGroupsRequest, _version: int) -> ListGroupsResponse:
    """List what is loaded; while a shard is not, the answer is that it is being loaded."""
    return ListGroupsResponse(
        error_code=ErrorCode.NONE,
        groups=[
            group
            for shard in context.groups.shards()
            for group in list_groups(shard, request.states_filter, request.types_filter)
        ],
    )
