"""Serves: DescribeGroups (15), the members of groups and what they are assigned.

Versions: 0-6. From 6 on a group that is not there is an error (KIP-1043).
"""

from __future__ import annotations

from broker.context import Context
from broker.core.groups.group_answers import group_operations, not_described
from broker.core.groups.group_catalog import describe
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)


def refuse(
    request: DescribeGroupsRequest, _version: int, error: KafkaError
) -> DescribeGroupsResponse:
    """Put the code into every group."""
    return DescribeGroupsResponse(
        groups=[not_described(group_id, error.code) for group_id in request.groups]
    )


@handles(DescribeGroupsRequest, "0-6", refuse=refuse)
async def handle(
    context: Context, request: DescribeGroupsRequest, version: int
) -> DescribeGroupsResponse:
    """Answer each group by itself."""
    groups = [await _described(context, group_id, version) for group_id in request.groups]
    if request.include_authorized_operations:
        for group in groups:
            if group.error_code == ErrorCode.NONE:
                group.authorized_operations = group_operations(context.release)
    return DescribeGroupsResponse(groups=groups)


async def _described(context: Context, group_id: str, version: int) -> DescribedGroup:
    try:
        described: DescribedGroup = await context.groups.ask(
            group_id,
            lambda shard, waiter, _now_ms, _wall_ms: describe(shard, waiter, group_id, version),
        )
    except KafkaError as error:
        return not_described(group_id, error.code)
    return described
