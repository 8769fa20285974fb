"""Answers that change nothing: the configs of topics and the brokers of the cluster.

A broker's own configs are described by that broker. Source: ConfigHelper.scala, KIP-700.
"""

from __future__ import annotations

from typing import Final

from controller.core.events import RequestArrived
from controller.core.state import Broker
from controller.core.step import Step
from controller.core.topic_rules import name_problem
from protocol.configs import (
    BrokerOverrides,
    ConfigSource,
    DescribedConfig,
    describe_topic_configs,
)
from protocol.errors import ErrorCode
from protocol.messages.cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

_TOPIC: Final = 2


def describe_configs(step: Step, event: RequestArrived) -> None:
    """Serve DescribeConfigs v0-4 for topics; other resources are INVALID_REQUEST."""
    request: DescribeConfigsRequest = event.request
    results = [_describe(step, resource, event) for resource in request.resources]
    step.answer(event.token, DescribeConfigsResponse(results=results))


def describe_cluster(step: Step, event: RequestArrived) -> None:
    """Serve DescribeCluster v0-2; fenced brokers only when asked for."""
    request: DescribeClusterRequest = event.request
    brokers = [
        _cluster_broker(broker)
        for _, broker in sorted(step.state.brokers.items())
        if request.include_fenced_brokers or not broker.is_fenced
    ]
    step.answer(
        event.token,
        DescribeClusterResponse(
            endpoint_type=request.endpoint_type,
            cluster_id=step.state.cluster_id,
            controller_id=step.settings.controller_id,
            brokers=brokers,
        ),
    )


def _cluster_broker(broker: Broker) -> DescribeClusterBroker:
    endpoint = broker.endpoints[0]
    return DescribeClusterBroker(
        broker_id=broker.broker_id,
        host=endpoint.host,
        port=endpoint.port,
        rack=broker.rack,
        is_fenced=broker.is_fenced,
    )


def _describe(
    step: Step, resource: DescribeConfigsResource, event: RequestArrived
) -> DescribeConfigsResult:
    name = resource.resource_name
    topic = step.state.topics.get(name)
    if resource.resource_type != _TOPIC:
        return _failed(resource, ErrorCode.INVALID_REQUEST, "Only topics are described here.")
    problem = name_problem(name)
    if problem:
        code = ErrorCode.INVALID_TOPIC_EXCEPTION
        return _failed(resource, code, f"Topic name is invalid: {problem}")
    if topic is None:
        return _failed(resource, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)
    overrides = BrokerOverrides(static=step.settings.overrides, dynamic={}, dynamic_default={})
    wanted = resource.configuration_keys
    return DescribeConfigsResult(
        error_message="",
        resource_type=resource.resource_type,
        resource_name=name,
        configs=[
            _entry(config, event.request, event.version)
            for config in describe_topic_configs(topic.configs, overrides)
            if not wanted or config.name in wanted
        ],
    )


def _failed(
    resource: DescribeConfigsResource, code: ErrorCode, message: str | None
) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=code,
        error_message=message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _entry(
    config: DescribedConfig, request: DescribeConfigsRequest, version: int
) -> DescribeConfigsResourceResult:
    synonyms = config.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=config.name,
        value=config.value,
        read_only=config.is_read_only,
        is_default=version == 0 and config.source is ConfigSource.DEFAULT,
        config_source=config.source,
        is_sensitive=config.is_sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=s.name, value=s.value, source=s.source) for s in synonyms
        ],
        config_type=config.type,
        documentation=config.documentation if request.include_documentation else None,
    )
