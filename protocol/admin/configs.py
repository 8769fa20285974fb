"""Settings of topics, brokers and groups: how to change and ask for them, what is answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from protocol.admin.outcomes import Outcome
from protocol.configs.parsing import ConfigSynonym
from protocol.configs.types import AlterOperation, ConfigSource, ResourceType
from protocol.messages.configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResult,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsRequestAlterableConfig,
    IncrementalAlterConfigsRequestAlterConfigsResource,
    IncrementalAlterConfigsResponse,
    ListConfigResourcesRequest,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigView:
    """One setting of a resource."""

    name: str
    value: str | None
    """None for a sensitive one."""
    source: ConfigSource
    is_sensitive: bool
    synonyms: tuple[ConfigSynonym, ...]
    """The strongest first; empty when they were not asked for."""

    @property
    def is_default(self) -> bool:
        """Whether nobody set it."""
        return self.source is ConfigSource.DEFAULT_CONFIG


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
    return [Outcome.of(each) for each in answer.responses]


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


def list_resources_request(kind: ResourceType) -> ListConfigResourcesRequest:
    """Ask, in version 1, which resources of a kind there are; of groups, those with settings."""
    return ListConfigResourcesRequest(resource_types=[kind])


def set_for(result: DescribeConfigsResult, source: ConfigSource) -> dict[str, str]:
    """Return what is set of one resource at ``source``, by name."""
    return {
        entry.name: entry.value
        for entry in result.configs
        if entry.config_source == source and entry.value is not None
    }


def config_views(result: DescribeConfigsResult) -> list[ConfigView]:
    """Return the settings of one resource, sorted by name."""
    return [
        ConfigView(
            name=each.name,
            value=each.value,
            source=ConfigSource(each.config_source),
            is_sensitive=each.is_sensitive,
            synonyms=tuple(
                ConfigSynonym(one.name, one.value, ConfigSource(one.source))
                for one in each.synonyms
            ),
        )
        for each in sorted(result.configs, key=lambda each: each.name)
    ]


def _change(key: str, value: str | None) -> IncrementalAlterConfigsRequestAlterableConfig:
    operation = AlterOperation.DELETE if value is None else AlterOperation.SET
    return IncrementalAlterConfigsRequestAlterableConfig(
        name=key, config_operation=operation, value=value
    )
