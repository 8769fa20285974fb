"""The stored SCRAM credentials, fetched from the controller, by which clients authenticate."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.fetched_configs import (
    DESCRIBE_CONFIGS_VERSION,
    REFRESH_TIMEOUT_MS,
    FetchedConfigs,
)
from protocol.configs.messages import SCRAM_CREDENTIALS
from protocol.errors import ErrorCode
from protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from protocol.security.listeners import Listener
from protocol.security.scram import ScramCredential, credential_from_text

LIST_CONFIG_RESOURCES_VERSION: Final = 1
logger = logging.getLogger(__name__)


class ScramCredentials(FetchedConfigs):
    """``run`` it once; ``refresh`` it when told that credentials changed."""

    def __init__(self, link: ControllerLink, listeners: Sequence[Listener]) -> None:
        """Without a listener of SASL among the broker's, nothing is asked."""
        super().__init__("SCRAM credentials")
        self._link = link
        self._is_used = any(each.protocol.is_sasl for each in listeners)
        self._found: dict[tuple[str, str], ScramCredential] = {}

    def find(self, mechanism: str, user: str) -> ScramCredential | None:
        """Return what is stored of a user for a mechanism."""
        return self._found.get((mechanism, user))

    async def _fetch(self) -> None:
        if not self._is_used:
            return
        listed: ListConfigResourcesResponse = await self._link.request(
            ListConfigResourcesRequest(resource_types=[SCRAM_CREDENTIALS]),
            LIST_CONFIG_RESOURCES_VERSION,
            timeout_ms=REFRESH_TIMEOUT_MS,
        )
        if listed.error_code != ErrorCode.NONE:
            logger.error("the controller does not tell its SCRAM credentials")
            return
        users = [
            each.resource_name
            for each in listed.config_resources
            if each.resource_type == SCRAM_CREDENTIALS
        ]
        self._found = await self._described(users) if users else {}

    async def _described(self, users: Sequence[str]) -> dict[tuple[str, str], ScramCredential]:
        described: DescribeConfigsResponse = await self._link.request(
            DescribeConfigsRequest(
                resources=[
                    DescribeConfigsResource(
                        resource_type=SCRAM_CREDENTIALS,
                        resource_name=user,
                        configuration_keys=None,
                    )
                    for user in users
                ],
                include_synonyms=False,
                include_documentation=False,
            ),
            DESCRIBE_CONFIGS_VERSION,
            timeout_ms=REFRESH_TIMEOUT_MS,
        )
        return {
            (entry.name, result.resource_name): credential_from_text(entry.value)
            for result in described.results
            for entry in result.configs
            if entry.value is not None
        }
