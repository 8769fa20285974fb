"""Serves: IncrementalAlterConfigs (44): topics and brokers at the controller, loggers here.

Differs from Kafka: answered when every reachable broker has taken the change over; a broker key
that is not known is refused, not stored.
Versions: 0-1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from broker.context import Context
from broker.handlers import handles
from broker.log_levels import change_log_levels
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsRequestAlterConfigsResource,
    IncrementalAlterConfigsResponse,
)

FORWARD_TIMEOUT_MS: Final = 5_000
_BROKER: Final = 4
_BROKER_LOGGER: Final = 8
_DELETE: Final = 1

ResourceT = TypeVar(
    "ResourceT", AlterConfigsResource, IncrementalAlterConfigsRequestAlterConfigsResource
)


def refuse(
    request: IncrementalAlterConfigsRequest, _version: int, error: KafkaError
) -> IncrementalAlterConfigsResponse:
    """Put the code into every resource."""
    return IncrementalAlterConfigsResponse(
        responses=[alter_response(asked, error) for asked in request.resources]
    )


@handles(IncrementalAlterConfigsRequest, "0-1", refuse=refuse)
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

    responses = await answer_each(context, request.resources, change_levels, forward)
    return IncrementalAlterConfigsResponse(responses=responses)


async def answer_each(
    context: Context,
    resources: Sequence[ResourceT],
    change_levels: Callable[[ResourceT], None],
    forward: Callable[[Sequence[ResourceT]], Awaitable[Sequence[AlterConfigsResourceResponse]]],
) -> list[AlterConfigsResourceResponse]:
    """Answer what is this broker's own affair and pass the rest on in one request.

    Source: ConfigAdminManager.preprocess.
    """
    counts = Counter((asked.resource_type, asked.resource_name) for asked in resources)
    answers: dict[int, AlterConfigsResourceResponse] = {}
    for index, asked in enumerate(resources):
        try:
            if counts[asked.resource_type, asked.resource_name] > 1:
                raise _invalid("Each resource must appear at most once.")
            if asked.resource_type == _BROKER_LOGGER:
                change_levels(asked)
                answers[index] = alter_response(asked, None)
            elif asked.resource_type == _BROKER and asked.resource_name:
                check_own_id(context, asked.resource_name, "broker id, expected")
        except KafkaError as error:
            answers[index] = alter_response(asked, error)
    passed = [index for index in range(len(resources)) if index not in answers]
    if passed:
        forwarded = await forward([resources[index] for index in passed])
        answers.update(zip(passed, forwarded, strict=True))
    return [answers[index] for index in range(len(resources))]


def check_own_id(context: Context, name: str, expected: str) -> None:
    """Check that a resource's name is this broker.

    Raises:
        KafkaError: INVALID_REQUEST.
    """
    try:
        broker_id = int(name)
    except ValueError:
        raise _invalid(f"Node id must be an integer, but it is: {name}") from None
    if broker_id != context.broker_id:
        raise _invalid(f"Unexpected {expected} {context.broker_id}, but received {name}")


def alter_response(
    asked: AlterConfigsResource | IncrementalAlterConfigsRequestAlterConfigsResource,
    error: KafkaError | None,
) -> AlterConfigsResourceResponse:
    """Return the answer for one resource."""
    return AlterConfigsResourceResponse(
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.message or None,
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
    )


def _change_log_levels(
    context: Context,
    asked: IncrementalAlterConfigsRequestAlterConfigsResource,
    *,
    apply: bool,
) -> None:
    names = [one.name for one in asked.configs]
    if len(set(names)) < len(names):
        raise _invalid("Error due to duplicate config keys")
    nulls = [
        one.name for one in asked.configs if one.value is None and one.config_operation != _DELETE
    ]
    if nulls:
        raise _invalid(f"Null value not supported for : {', '.join(nulls)}")
    check_own_id(context, asked.resource_name, "node id. Expected")
    change_log_levels(
        [(one.name, one.config_operation, one.value) for one in asked.configs], apply=apply
    )


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
