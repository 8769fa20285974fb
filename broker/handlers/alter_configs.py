"""Serves: AlterConfigs (33), which replaces all of a resource's settings, at the controller.

Differs from Kafka: a resource named twice is answered; a 3.9 broker leaves the client waiting.
Versions: 0-2.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from broker.config_resources import (
    FORWARD_TIMEOUT_MS,
    answer_each,
    check_own_stores,
    invalid_request,
)
from broker.context import Context
from broker.handlers import handles
from protocol.messages.configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from protocol.refusals import refuse_alter_configs


@handles(AlterConfigsRequest, "0-2", refuse=refuse_alter_configs)
async def handle(
    context: Context, request: AlterConfigsRequest, version: int
) -> AlterConfigsResponse:
    """Return one answer per resource, in order."""

    async def forward(
        passed: Sequence[AlterConfigsResource],
    ) -> Sequence[AlterConfigsResourceResponse]:
        part = AlterConfigsRequest(resources=passed, validate_only=request.validate_only)
        answer: AlterConfigsResponse = await context.controller.forward(
            part, version, timeout_ms=FORWARD_TIMEOUT_MS
        )
        return answer.responses

    check_own = partial(check_own_stores, context)
    responses = await answer_each(
        context.broker_id, request.resources, _refuse_loggers, check_own, forward
    )
    return AlterConfigsResponse(responses=responses)


def _refuse_loggers(asked: AlterConfigsResource) -> None:
    """Levels are changed one by one only, by IncrementalAlterConfigs."""
    raise invalid_request(f"Unknown resource type {asked.resource_type}")
