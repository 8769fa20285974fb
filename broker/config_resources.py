"""What AlterConfigs and IncrementalAlterConfigs share: which broker answers which resource.

It changes nothing itself. Source: ConfigAdminManager.scala.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from broker.context import Context
from protocol.configs.broker import BROKER_KEYS
from protocol.configs.changes import AlteredResource, apply_changes, asked_ops, check_ops, outcome
from protocol.configs.listener_keys import STORES, key_of_all
from protocol.configs.messages import DELEGATION_TOKENS, alter_response
from protocol.configs.reconfiguration import check_broker_change
from protocol.configs.types import ResourceType, set_texts
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import broker_id_from_text
from protocol.messages.configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequestAlterConfigsResource,
)

FORWARD_TIMEOUT_MS: Final = 5_000

ResourceT = TypeVar(
    "ResourceT", AlterConfigsResource, IncrementalAlterConfigsRequestAlterConfigsResource
)


async def answer_each(
    broker_id: int,
    resources: Sequence[ResourceT],
    change_levels: Callable[[ResourceT], None],
    check_own: Callable[[ResourceT], None],
    forward: Callable[[Sequence[ResourceT]], Awaitable[Sequence[AlterConfigsResourceResponse]]],
) -> list[AlterConfigsResourceResponse]:
    """Answer what is this broker's own affair and pass the rest on in one request.

    ``check_own`` looks at what this broker would be set to, as far as nobody else can.

    Source: ConfigAdminManager.preprocess.
    """
    counts = Counter((asked.resource_type, asked.resource_name) for asked in resources)
    answers: dict[int, AlterConfigsResourceResponse] = {}
    for index, asked in enumerate(resources):
        try:
            if counts[asked.resource_type, asked.resource_name] > 1:
                raise invalid_request("Each resource must appear at most once.")
            if asked.resource_type == DELEGATION_TOKENS:  # Which brokers alone keep by this.
                raise invalid_request(f"Unknown resource type {asked.resource_type}")
            if asked.resource_type == ResourceType.BROKER_LOGGER:
                change_levels(asked)
                answers[index] = alter_response(asked, None)
            elif asked.resource_type == ResourceType.BROKER and asked.resource_name:
                check_own_id(broker_id, asked.resource_name, "broker id, expected")
                check_own(asked)
        except KafkaError as error:
            answers[index] = alter_response(asked, error)
    passed = [index for index in range(len(resources)) if index not in answers]
    if passed:
        forwarded = await forward([resources[index] for index in passed])
        answers.update(zip(passed, forwarded, strict=True))
    return [answers[index] for index in range(len(resources))]


def check_own_stores(
    context: Context,
    asked: AlteredResource,
) -> None:
    """Check the stores of listeners that this broker would have to use: it alone reads its files.

    Raises:
        KafkaError: they may not be.
    """
    overrides = context.broker_configs.overrides
    current = set_texts(overrides.dynamic)
    ops = asked_ops(asked, current)
    check_ops(ops)
    changes = outcome(BROKER_KEYS, current, ops)
    if not any(key_of_all(name) in STORES for name in changes):
        return
    static, defaults = set_texts(overrides.static), set_texts(overrides.dynamic_default)
    check_broker_change(changes, static=static, defaults=defaults, own=current, is_default=False)
    context.check_listeners(replace(overrides, dynamic=apply_changes(current, changes)))


def check_own_id(own_id: int, name: str, expected: str) -> None:
    """Check that a resource's name is this broker.

    Raises:
        KafkaError: INVALID_REQUEST.
    """
    try:
        broker_id = broker_id_from_text(name)
    except ValueError:
        raise invalid_request(f"Node id must be an integer, but it is: {name}") from None
    if broker_id != own_id:
        raise invalid_request(f"Unexpected {expected} {own_id}, but received {name}")


def invalid_request(message: str) -> KafkaError:
    """Return the error that most mistakes about resources have."""
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
