"""Serves: IncrementalAlterConfigs (44): topics, brokers, groups at the controller, loggers here.

Differs from Kafka: answered when every reachable broker has taken the change over; a broker key
that is not known is refused, not stored.
Versions: 0-1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from broker.config_resources import (
    FORWARD_TIMEOUT_MS,
    answer_each,
    check_own_id,
    check_own_stores,
    invalid_request,
)
from broker.context import Context
from broker.handlers import handles
from broker.log_levels import change_log_levels
from protocol.configs.types import AlterOperation
from protocol.messages.configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsRequestAlterConfigsResource,
    IncrementalAlterConfigsResponse,
)
from protocol.refusals import refuse_incremental_alter_configs


@handles(IncrementalAlterConfigsRequest, "0-1", refuse=refuse_incremental_alter_configs)
async def handle(
    context: Context, request: IncrementalAlterConfigsRequest, version: int
) -> IncrementalAlterConfigsResponse:
    """Return one answer per resource, in order."""

    def change_levels(asked: IncrementalAlterConfigsRequestAlterConfigsResource) -> None:
        _change_log_levels(context, asked, apply=not request.validate_only)

    async def forward(
        passed: Sequence[IncrementalAlterConfigsRequestAlterConfigsResource],
    ) -> Sequence[AlterConfigsResourceResponse]:
        part = IncrementalAlterConfigsRequest(resources=passed, validate_only=request.validate_only)
        answer: IncrementalAlterConfigsResponse = await context.controller.forward(
            part, version, timeout_ms=FORWARD_TIMEOUT_MS
        )
        return answer.responses

    check_own = partial(check_own_stores, context)
    responses = await answer_each(
        context.broker_id, request.resources, change_levels, check_own, forward
    )
    return IncrementalAlterConfigsResponse(responses=responses)


def _change_log_levels(
    context: Context,
    asked: IncrementalAlterConfigsRequestAlterConfigsResource,
    *,
    apply: bool,
) -> None:
    names = [one.name for one in asked.configs]
    if len(set(names)) < len(names):
        raise invalid_request("Error due to duplicate config keys")
    nulls = [
        one.name
        for one in asked.configs
        if one.value is None and one.config_operation != AlterOperation.DELETE
    ]
    if nulls:
        raise invalid_request(f"Null value not supported for : {', '.join(nulls)}")
    check_own_id(context.broker_id, asked.resource_name, "node id. Expected")
    change_log_levels(
        [(one.name, one.config_operation, one.value) for one in asked.configs], apply=apply
    )
