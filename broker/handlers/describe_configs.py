"""Serves: DescribeConfigs (32), the settings of topics and of this broker.

Differs from Kafka: a topic's own settings come from the controller when this broker hosts none of
its replicas. Broker loggers, client metrics and groups have no settings here: INVALID_REQUEST.
Versions: 0-4.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from broker.context import Context
from broker.handlers import handles
from protocol.configs import (
    BrokerOverrides,
    ConfigSource,
    DescribedConfig,
    describe_broker_configs,
    describe_topic_configs,
)
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

_TOPIC: Final = 2
_BROKER: Final = 4


def refuse(
    request: DescribeConfigsRequest, _version: int, error: KafkaError
) -> DescribeConfigsResponse:
    """Put the code into every resource."""
    return DescribeConfigsResponse(results=[_failed(asked, error) for asked in request.resources])


@handles(DescribeConfigsRequest, "0-4", refuse=refuse)
async def handle(
    context: Context, request: DescribeConfigsRequest, version: int
) -> DescribeConfigsResponse:
    """Answer each resource by itself; an unknown kind of resource refuses the whole request."""
    for asked in request.resources:
        if asked.resource_type not in (_TOPIC, _BROKER):
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
        if asked.resource_type == _TOPIC:
            described = await _topic(context, asked.resource_name)
        else:
            described = _broker(context, asked.resource_name)
    except KafkaError as error:
        return _failed(asked, error)
    return DescribeConfigsResult(
        error_code=ErrorCode.NONE,
        error_message="",
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
        configs=[
            _entry(config, request, version)
            for config in _selected(described, asked.configuration_keys)
        ],
    )


async def _topic(context: Context, topic: str) -> list[DescribedConfig]:
    if not context.engine.metadata.has_topic(topic):
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic {topic} does not exist.")
    overrides = await context.topic_configs.overrides(topic)
    return describe_topic_configs(overrides, _own(context))


def _broker(context: Context, name: str) -> list[DescribedConfig]:
    """Source: ConfigHelper.describeConfigs: "" asks for the dynamic defaults of the cluster."""
    if name == "":
        return []
    if name != str(context.broker_id):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {context.broker_id} or empty string, but got {name}",
        )
    return describe_broker_configs(_own(context))


def _own(context: Context) -> BrokerOverrides:
    return BrokerOverrides(static=context.config_overrides, dynamic={}, dynamic_default={})


def _selected(
    described: list[DescribedConfig], keys: Iterable[str] | None
) -> list[DescribedConfig]:
    wanted = list(keys or ())
    return [config for config in described if not wanted or config.name in wanted]


def _entry(
    config: DescribedConfig, request: DescribeConfigsRequest, version: int
) -> DescribeConfigsResourceResult:
    synonyms = [
        DescribeConfigsSynonym(name=entry.name, value=entry.value, source=entry.source)
        for entry in (config.synonyms if request.include_synonyms else ())
    ]
    return DescribeConfigsResourceResult(
        name=config.name,
        value=config.value,
        read_only=config.is_read_only,
        is_default=version == 0 and config.source is ConfigSource.DEFAULT,
        config_source=config.source,
        is_sensitive=config.is_sensitive,
        synonyms=synonyms,
        config_type=config.type,
        documentation=config.documentation if request.include_documentation else None,
    )


def _failed(asked: DescribeConfigsResource, error: KafkaError) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=error.code,
        error_message=error.message,
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
        configs=[],
    )
