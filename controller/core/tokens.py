"""Delegation tokens, which brokers decide about and this keeps: journals, tells the brokers.

Brokers write them as configs of resources that clients cannot name. The answer to a change waits
for the brokers, which answer once they authenticate by it. Source: DelegationTokenControlManager.
"""

from __future__ import annotations

from controller.core.cluster_action import only_nodes
from controller.core.events import RequestArrived
from controller.core.step import Step
from controller.core.token_records import DelegationTokenRemoved, DelegationTokenStored
from protocol.configs.messages import (
    CHANGED_DELEGATION_TOKENS,
    DELEGATION_TOKENS,
    TOKEN,
    alter_response,
    not_described,
)
from protocol.configs.types import ConfigSource, ConfigType
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.configs import (
    AlterConfigsResourceResponse,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsRequestAlterConfigsResource,
    IncrementalAlterConfigsResponse,
)


def is_about_tokens(request: IncrementalAlterConfigsRequest) -> bool:
    """Tell whether a broker wants to keep tokens."""
    return any(each.resource_type == DELEGATION_TOKENS for each in request.resources)


def alter_tokens(step: Step, event: RequestArrived) -> None:
    """Store or remove each; one that another broker removed before is no error."""
    request: IncrementalAlterConfigsRequest = event.request
    before = len(step.records)
    responses = [_altered(step, asked) for asked in request.resources]
    changed = step.records[before:]
    if changed:
        gone = sum(isinstance(record, DelegationTokenRemoved) for record in changed)
        text = f"{len(changed) - gone} delegation tokens stored, {gone} removed"
        step.tell_all(CHANGED_DELEGATION_TOKENS, text)
    step.answer_when_told(event.token, IncrementalAlterConfigsResponse(responses=responses))


def token_described_to_brokers(step: Step, asked: DescribeConfigsResource) -> DescribeConfigsResult:
    """Tell a broker one token; of one that is gone, nothing."""
    if not step.settings.tells_nodes_apart:
        return not_described(asked, only_nodes())
    text = step.state.delegation_tokens.get(asked.resource_name)
    described = DescribeConfigsResourceResult(
        name=TOKEN,
        value=text,
        config_source=ConfigSource.UNKNOWN,
        is_sensitive=True,
        config_type=ConfigType.PASSWORD,
        documentation=None,
    )
    return DescribeConfigsResult(
        error_message="",
        resource_type=DELEGATION_TOKENS,
        resource_name=asked.resource_name,
        configs=[] if text is None else [described],
    )


def _altered(
    step: Step, asked: IncrementalAlterConfigsRequestAlterConfigsResource
) -> AlterConfigsResourceResponse:
    if not step.settings.tells_nodes_apart:
        return alter_response(asked, only_nodes())
    texts = [each.value for each in asked.configs if each.name == TOKEN]
    if asked.resource_type != DELEGATION_TOKENS or len(texts) != 1:
        return alter_response(asked, KafkaError(ErrorCode.INVALID_REQUEST, "No delegation token."))
    token_id, text, stored = asked.resource_name, texts[0], step.state.delegation_tokens
    if text is None:
        if token_id in stored:
            step.change(DelegationTokenRemoved(token_id))
    elif stored.get(token_id) != text:
        step.change(DelegationTokenStored(token_id, text))
    return alter_response(asked, None)
