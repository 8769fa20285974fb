"""Clients' quotas, fetched from the controller, by which this broker throttles."""

from __future__ import annotations

import logging
from typing import Final

from broker.core.client_quotas.client_quotas import ClientQuotas
from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.fetched_configs import REFRESH_TIMEOUT_MS, FetchedConfigs
from protocol.client_quotas.filters import EVERY_QUOTA, told_quotas
from protocol.errors import ErrorCode
from protocol.messages.quotas import DescribeClientQuotasResponse

DESCRIBE_CLIENT_QUOTAS_VERSION: Final = 1
logger = logging.getLogger(__name__)


class ClientQuotaNews(FetchedConfigs):
    """``run`` it once; ``refresh`` it when told that quotas changed."""

    def __init__(self, link: ControllerLink, quotas: ClientQuotas) -> None:
        """``quotas`` is told what the controller answers."""
        super().__init__("clients' quotas")
        self._link = link
        self.quotas = quotas

    async def _fetch(self) -> None:
        response: DescribeClientQuotasResponse = await self._link.request(
            EVERY_QUOTA, DESCRIBE_CLIENT_QUOTAS_VERSION, timeout_ms=REFRESH_TIMEOUT_MS
        )
        if response.error_code != ErrorCode.NONE:
            logger.error("the controller does not tell clients' quotas: %s", response.error_message)
            return
        self.quotas.replace(told_quotas(response.entries or ()))
