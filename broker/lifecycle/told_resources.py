"""What the controller tells brokers alone, as resources of a type that clients cannot name."""

from __future__ import annotations

from typing import Final

from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.fetched_configs import DESCRIBE_CONFIGS_VERSION, REFRESH_TIMEOUT_MS
from protocol.errors import ErrorCode
from protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

LIST_CONFIG_RESOURCES_VERSION: Final = 1


async def told_resources(link: ControllerLink, resource_type: int) -> dict[str, dict[str, str]]:
    """Return the configs of every resource of a type, by its name.

    Raises:
        ConnectionError, TimeoutError: no answer, or a refusal.
    """
    listed: ListConfigResourcesResponse = await link.request(
        ListConfigResourcesRequest(resource_types=[resource_type]),
        LIST_CONFIG_RESOURCES_VERSION,
        timeout_ms=REFRESH_TIMEOUT_MS,
    )
    if listed.error_code != ErrorCode.NONE:
        raise ConnectionError(f"the controller does not tell its resources of type {resource_type}")
    resources = [
        DescribeConfigsResource(
            resource_type=resource_type, resource_name=each.resource_name, configuration_keys=None
        )
        for each in listed.config_resources
        if each.resource_type == resource_type
    ]
    if not resources:
        return {}
    described: DescribeConfigsResponse = await link.request(
        DescribeConfigsRequest(
            resources=resources, include_synonyms=False, include_documentation=False
        ),
        DESCRIBE_CONFIGS_VERSION,
        timeout_ms=REFRESH_TIMEOUT_MS,
    )
    return {
        result.resource_name: {
            entry.name: entry.value for entry in result.configs if entry.value is not None
        }
        for result in described.results
    }
