"""What groups are configured to, fetched from the controller: a broker knows all that have any.

It applies nothing: coordinators ask ``config_of`` whenever they need it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.fetched_configs import (
    DESCRIBE_CONFIGS_VERSION,
    REFRESH_TIMEOUT_MS,
    FetchedConfigs,
)
from protocol.admin.configs import describe_configs_request, list_resources_request, set_for
from protocol.configs.broker import BrokerConfig
from protocol.configs.group import GroupConfig
from protocol.configs.group_parsing import group_config
from protocol.configs.types import ConfigSource, ResourceType
from protocol.errors import KafkaError
from protocol.messages.configs import DescribeConfigsResponse, ListConfigResourcesResponse

LIST_CONFIG_RESOURCES_VERSION: Final = 1

logger = logging.getLogger(__name__)


class GroupConfigs(FetchedConfigs):
    """The cache. ``run`` it once; ``refresh`` it when told that configs of groups changed."""

    def __init__(self, link: ControllerLink, *, broker_config: BrokerConfig) -> None:
        """Start empty; ``broker_config`` gives defaults and bounds."""
        super().__init__("configs of groups")
        self._link = link
        self._broker_config = broker_config
        self._defaults = group_config({}, broker_config)
        self._overrides: dict[str, Mapping[str, str]] = {}
        self._configs: dict[str, GroupConfig] = {}

    def config_of(self, group_id: str) -> GroupConfig:
        """Return the effective config of a group, which need not be there."""
        return self._configs.get(group_id, self._defaults)

    def overrides(self, group_id: str) -> Mapping[str, str]:
        """Return the group's own settings by Kafka's names."""
        return self._overrides.get(group_id, {})

    def groups(self) -> list[str]:
        """Return the groups that have settings of their own."""
        return sorted(self._overrides)

    def rebase(self, broker_config: BrokerConfig) -> None:
        """Take new defaults and bounds."""
        self._broker_config = broker_config
        self._defaults = group_config({}, broker_config)
        self._take(self._overrides)

    async def _fetch(self) -> None:
        listed: ListConfigResourcesResponse = await self._link.request(
            list_resources_request(ResourceType.GROUP),
            LIST_CONFIG_RESOURCES_VERSION,
            timeout_ms=REFRESH_TIMEOUT_MS,
        )
        names = [each.resource_name for each in listed.config_resources]
        if not names:
            self._take({})
            return
        described: DescribeConfigsResponse = await self._link.request(
            describe_configs_request(ResourceType.GROUP, names),
            DESCRIBE_CONFIGS_VERSION,
            timeout_ms=REFRESH_TIMEOUT_MS,
        )
        found = {
            result.resource_name: set_for(result, ConfigSource.DYNAMIC_GROUP_CONFIG)
            for result in described.results
        }
        self._take({name: texts for name, texts in found.items() if texts})

    def _take(self, overrides: Mapping[str, Mapping[str, str]]) -> None:
        configs: dict[str, GroupConfig] = {}
        for group_id, texts in overrides.items():
            try:
                configs[group_id] = group_config(texts, self._broker_config)
            except KafkaError as exc:
                logger.error("configs of group %s are unusable, using defaults: %s", group_id, exc)  # noqa: TRY400 - a peer's value, not our defect
        self._overrides = dict(overrides)
        self._configs = configs
