"""Serves: ConsumerGroupDescribe (69), groups of the consumer protocol (KIP-848).

Versions: 0-1. From 1 on it tells which protocol each member speaks (KIP-1099).
"""

from __future__ import annotations

from broker.context import Context
from broker.core.groups.consumer.consumer_answers import not_described, require_protocol
from broker.core.groups.group_answers import group_operations
from broker.core.groups.group_catalog import describe_consumer_group
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.consumer_groups import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)


def refuse(
    request: ConsumerGroupDescribeRequest, _version: int, error: KafkaError
) -> ConsumerGroupDescribeResponse:
    """Put the code into every group."""
    return ConsumerGroupDescribeResponse(
        groups=[not_described(group_id, error.code) for group_id in request.group_ids]
    )


@handles(ConsumerGroupDescribeRequest, "0-1", refuse=refuse)
async def handle(
    context: Context, request: ConsumerGroupDescribeRequest, _version: int
) -> ConsumerGroupDescribeResponse:
    """Answer each group by itself."""
    require_protocol(context.cluster_release, context.config)
    groups = [await _described(context, group_id) for group_id in request.group_ids]
    if request.include_authorized_operations:
        for group in groups:
            if group.error_code == ErrorCode.NONE:
                group.authorized_operations = group_operations(context.release)
    return ConsumerGroupDescribeResponse(groups=groups)


async def _described(context: Context, group_id: str) -> DescribedGroup:
    if not group_id:
        return not_described(group_id, ErrorCode.INVALID_GROUP_ID)
    try:
        described: DescribedGroup = await context.groups.ask(
            group_id,
            lambda shard, waiter, _now_ms, _wall_ms: describe_consumer_group(
                shard, waiter, group_id
            ),
        )
    except KafkaError as error:
        return not_described(group_id, error.code)
    return described
