"""Settings of topics and brokers: how to change and ask for them, and what is answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from protocol.admin.outcomes import Outcome
from protocol.configs.types import AlterOperation, ResourceType
from protocol.errors import ErrorCode
from protocol.messages.configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsRequestAlterableConfig,
    IncrementalAlterConfigsRequestAlterConfigsResource,
    IncrementalAlterConfigsResponse,
)


def alter_configs_request(
    kind: ResourceType, changes: Mapping[str, Mapping[str, str | None]]
) -> IncrementalAlterConfigsRequest:
    """Ask for new values by resource and setting; None deletes. The broker "" is all brokers."""
    return IncrementalAlterConfigsRequest(
        resources=[
            IncrementalAlterConfigsRequestAlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[_change(key, value) for key, value in values.items()],
            )
            for name, values in changes.items()
        ],
        validate_only=False,
    )


def replace_configs_request(
    kind: ResourceType, values: Mapping[str, Mapping[str, str | None]]
) -> AlterConfigsRequest:
    """Ask for values in place of all that resources have, as clients did before KIP-339."""
    return AlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[AlterableConfig(name=key, value=value) for key, value in each.items()],
            )
            for name, each in values.items()
        ],
        validate_only=False,
    )


def alter_outcomes(
    answer: IncrementalAlterConfigsResponse | AlterConfigsResponse,
) -> list[Outcome]:
    """Return what became of each resource, in the order of the answer."""
    return [Outcome(ErrorCode(each.error_code), each.error_message) for each in answer.responses]


def describe_configs_request(
    kind: ResourceType,
    names: Sequence[str],
    *,
    keys: Sequence[str] | None = None,
    with_synonyms: bool = False,
) -> DescribeConfigsRequest:
    """Ask for the settings of resources: all, or those named ``keys``.

    Args:
        kind: of the resources. A broker is asked itself for what it goes by.
        names: of the resources; the broker "" is all brokers.
        keys: of the settings; None for all.
        with_synonyms: ask where else a value is set.
    """
    return DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(
                resource_type=kind,
                resource_name=name,
                configuration_keys=None if keys is None else list(keys),
            )
            for name in names
        ],
        include_synonyms=with_synonyms,
        include_documentation=False,
    )


def _change(key: str, value: str | None) -> IncrementalAlterConfigsRequestAlterableConfig:
    operation = AlterOperation.DELETE if value is None else AlterOperation.SET
    return IncrementalAlterConfigsRequestAlterableConfig(
        name=key, config_operation=operation, value=value
    )
