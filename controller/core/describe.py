"""Answers that change nothing: configs of topics and groups, and the brokers of the cluster.

Of a broker only what was set dynamically is known here, as in KRaft; the rest that broker tells.
Source: ConfigHelper.scala, KIP-700.
"""

from __future__ import annotations

from dataclasses import replace

from controller.core.events import RequestArrived
from controller.core.scram import described_to_brokers
from controller.core.state import Broker
from controller.core.step import Step
from controller.core.tokens import token_described_to_brokers
from protocol.configs.group_parsing import describe_group_configs
from protocol.configs.messages import (
    DELEGATION_TOKENS,
    SCRAM_CREDENTIALS,
    described_entry,
    not_described,
)
from protocol.configs.parsing import (
    DescribedConfig,
    describe_dynamic_configs,
    describe_topic_configs,
)
from protocol.configs.types import ConfigSource, ResourceType
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from protocol.messages.configs import (
    ConfigResource,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from protocol.topic_names import topic_name_problem


def describe_configs(step: Step, event: RequestArrived) -> None:
    """Serve DescribeConfigs v0-4: topics and groups whole, brokers' dynamic configs.

    Whoever has shown to be a node is told secrets, too: it has to go by them.
    """
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


def list_config_resources(step: Step, event: RequestArrived) -> None:
    """Serve ListConfigResources v0-1 to brokers: groups with configs, users with SCRAM, tokens."""
    request: ListConfigResourcesRequest = event.request
    names: dict[int, list[str]] = {
        ResourceType.GROUP: sorted(step.state.group_configs),
        SCRAM_CREDENTIALS: sorted(step.state.scram_credentials),
        DELEGATION_TOKENS: sorted(step.state.delegation_tokens),
    }
    step.answer(
        event.token,
        ListConfigResourcesResponse(
            config_resources=[
                ConfigResource(resource_name=name, resource_type=kind)
                for kind in names
                if kind in request.resource_types
                for name in names[kind]
            ]
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
    if resource.resource_type == SCRAM_CREDENTIALS:
        return described_to_brokers(step, resource)
    if resource.resource_type == DELEGATION_TOKENS:
        return token_described_to_brokers(step, resource)
    try:
        described = _described(step, resource.resource_type, resource.resource_name)
    except KafkaError as error:
        return not_described(resource, error)
    wanted = resource.configuration_keys
    return DescribeConfigsResult(
        error_message="",
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=[
            described_entry(config, event.request, event.version)
            for config in described
            if not wanted or config.name in wanted
        ],
    )


def _described(step: Step, resource_type: int, name: str) -> list[DescribedConfig]:
    if resource_type == ResourceType.BROKER:
        source = (
            ConfigSource.DYNAMIC_BROKER_CONFIG
            if name
            else ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
        )
        texts = step.state.dynamic_configs.get(name, {})
        described = describe_dynamic_configs(texts, source)
        if not step.settings.tells_nodes_apart:
            return described
        return [replace(each, value=texts[each.name]) for each in described]
    if resource_type == ResourceType.GROUP:
        return describe_group_configs(
            step.state.group_configs.get(name, {}), step.default_overrides
        )
    if resource_type != ResourceType.TOPIC:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unexpected resource type {resource_type}.")
    problem = topic_name_problem(name)
    if problem:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}")
    # Also while it is being deleted: its brokers ask how long they are to keep its files.
    topic = step.state.topics.get(name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return describe_topic_configs(topic.configs, step.default_overrides)
