"""Serves: DescribeConfigs (32), settings of topics, groups, of this broker and of its loggers.

Differs from Kafka: a topic's own settings come from the controller when this broker hosts none of
its replicas. A topic's retention.ms that the broker
has in hours names the hours as its source.
Versions: 0-4.
"""

from __future__ import annotations

from typing import Final

from broker.context import Context
from broker.handlers import handles
from broker.log_levels import log_levels
from protocol.configs.group_parsing import describe_group_configs
from protocol.configs.messages import described_entry, not_described
from protocol.configs.parsing import (
    DescribedConfig,
    describe_broker_configs,
    describe_dynamic_configs,
    describe_topic_configs,
)
from protocol.configs.types import ConfigSource, ResourceType
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import broker_id_from_text
from protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.refusals import refuse_describe_configs
from protocol.topic_names import topic_name_problem

_KNOWN: Final = tuple(ResourceType)


@handles(DescribeConfigsRequest, "0-4", refuse=refuse_describe_configs)
async def handle(
    context: Context, request: DescribeConfigsRequest, version: int
) -> DescribeConfigsResponse:
    """Answer each resource by itself; an unknown kind of resource refuses the whole request."""
    for asked in request.resources:
        if asked.resource_type not in _KNOWN:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, f"Unexpected resource type {asked.resource_type}."
            )
    return DescribeConfigsResponse(
        results=[await _describe(context, request, version, asked) for asked in request.resources]
    )


async def _describe(
    context: Context,
    request: DescribeConfigsRequest,
    version: int,
    asked: DescribeConfigsResource,
) -> DescribeConfigsResult:
    try:
        entries = await _entries(context, request, version, asked)
    except KafkaError as error:
        return not_described(asked, error)
    wanted = list(asked.configuration_keys or ())
    return DescribeConfigsResult(
        error_code=ErrorCode.NONE,
        error_message="",
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
        configs=[entry for entry in entries if not wanted or entry.name in wanted],
    )


async def _entries(
    context: Context,
    request: DescribeConfigsRequest,
    version: int,
    asked: DescribeConfigsResource,
) -> list[DescribeConfigsResourceResult]:
    if asked.resource_type == ResourceType.BROKER_LOGGER:
        return _loggers(context, asked.resource_name)
    if asked.resource_type == ResourceType.CLIENT_METRICS:
        raise _invalid("Config type client-metrics is only supported on KRaft clusters")
    if asked.resource_type == ResourceType.TOPIC:
        described = await _topic(context, asked.resource_name)
    elif asked.resource_type == ResourceType.GROUP:
        described = _group(context, asked.resource_name)
    else:
        described = _broker(context, asked.resource_name)
    return [described_entry(config, request, version) for config in described]


async def _topic(context: Context, topic: str) -> list[DescribedConfig]:
    problem = topic_name_problem(topic)
    if problem:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}")
    if not context.metadata.has_topic(topic):
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    overrides = await context.topic_configs.overrides(topic)
    return describe_topic_configs(overrides, context.broker_configs.overrides)


def _group(context: Context, group_id: str) -> list[DescribedConfig]:
    """Describe a group, which need not be there."""
    if not group_id:
        raise _invalid("Group name must not be empty")
    overrides = context.group_configs.overrides(group_id)
    return describe_group_configs(overrides, context.broker_configs.overrides)


def _broker(context: Context, name: str) -> list[DescribedConfig]:
    """Source: ConfigHelper.describeConfigs: "" asks for the dynamic defaults of the cluster."""
    overrides = context.broker_configs.overrides
    if name == "":
        return describe_dynamic_configs(
            overrides.dynamic_default, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
        )
    if _number(name) != context.broker_id:
        raise _invalid(
            f"Unexpected broker id, expected {context.broker_id} or empty string, "
            f"but received {name}"
        )
    return describe_broker_configs(overrides, context.release)


def _loggers(context: Context, name: str) -> list[DescribeConfigsResourceResult]:
    if name == "":
        raise _invalid("Broker id must not be empty")
    if _number(name) != context.broker_id:
        raise _invalid(f"Unexpected broker id, expected {context.broker_id} but received {name}")
    return [
        DescribeConfigsResourceResult(
            name=logger,
            value=level,
            config_source=ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG,
            documentation="",
        )
        for logger, level in log_levels().items()
    ]


def _number(name: str) -> int:
    try:
        return broker_id_from_text(name)
    except ValueError:
        raise _invalid(f"Broker id must be an integer, but it is: {name}") from None


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
