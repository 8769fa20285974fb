"""The delegation tokens: fetched, changed for clients, removed once they are over.

They are kept where the control plane keeps them: at the controller, or in ZooKeeper. What they are
and who may change them is decided in ``broker.core.delegation_tokens``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from broker.core.delegation_tokens import DelegationTokens, TokenSettings
from broker.engine.supervise import supervised
from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.fetched_configs import FetchedConfigs
from broker.lifecycle.told_resources import told_resources
from protocol.configs.messages import DELEGATION_TOKENS, TOKEN
from protocol.configs.security import SecurityConfig
from protocol.configs.types import AlterOperation
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsRequestAlterableConfig,
    IncrementalAlterConfigsRequestAlterConfigsResource,
    IncrementalAlterConfigsResponse,
)
from protocol.security.delegation_tokens import (
    DelegationToken,
    MalformedToken,
    token_from_text,
    token_text,
)

ALTER_CONFIGS_VERSION: Final = 1
_TIMEOUT_MS: Final = 5_000
logger = logging.getLogger(__name__)


def settings_of(config: SecurityConfig) -> TokenSettings:
    """Return what a broker's configuration says of tokens."""
    return TokenSettings(
        config.delegation_token_secret_key or config.delegation_token_master_key,
        config.delegation_token_max_lifetime_ms,
        config.delegation_token_expiry_time_ms,
    )


class TokenNews(FetchedConfigs):
    """``run`` it once; ``refresh`` it when told that tokens changed."""

    def __init__(
        self,
        link: ControllerLink,
        tokens: DelegationTokens,
        wall_ms: Callable[[], int],
        check_interval_ms: int,
    ) -> None:
        """``tokens`` is told; nothing is asked where there can be none."""
        super().__init__("delegation tokens")
        self.tokens = tokens
        self._link, self._wall_ms = link, wall_ms
        self._check_interval_ms = check_interval_ms

    async def put(self, token: DelegationToken) -> None:
        """Have all brokers know a token that is new or changed.

        Raises:
            KafkaError: it is not kept.
        """
        await self._alter(token.token_id, token_text(token))
        self.tokens.keep(token)

    async def remove(self, token_id: str) -> None:
        """Have no broker know a token any more.

        Raises:
            KafkaError: as ``put``.
        """
        await self._alter(token_id, None)
        self.tokens.forget(token_id)

    async def run(self) -> None:
        """Ask when told, and remove now and then what is over, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            loops = {"delegation-token-news": super().run}
            if self.tokens.is_enabled:
                loops["delegation-token-sweeps"] = self._sweep
            for name, loop in loops.items():
                tasks.create_task(supervised(name, loop), name=name)

    async def _sweep(self) -> None:
        """Every broker does; the first one to remove a token suffices."""
        while True:
            await asyncio.sleep(self._check_interval_ms / 1000)
            for token in self.tokens.overdue(self._wall_ms()):
                try:
                    await self.remove(token.token_id)
                    logger.info("delegation token %s of %s is over", token.token_id, token.owner)
                except KafkaError as error:
                    logger.warning("a delegation token is removed later: %s", error)

    async def _fetch(self) -> None:
        if not self.tokens.is_enabled:
            return
        told = await told_resources(self._link, DELEGATION_TOKENS)
        found: list[DelegationToken] = []
        for token_id, texts in told.items():
            try:
                found += [token_from_text(text) for text in texts.values()]
            except MalformedToken as error:
                logger.error("%s is left out: %s", token_id, error)  # noqa: TRY400 - a peer's value
        self.tokens.replace(found)

    async def _alter(self, token_id: str, text: str | None) -> None:
        operation = AlterOperation.DELETE if text is None else AlterOperation.SET
        config = IncrementalAlterConfigsRequestAlterableConfig(
            name=TOKEN, config_operation=operation, value=text
        )
        asked = IncrementalAlterConfigsRequestAlterConfigsResource(
            resource_type=DELEGATION_TOKENS, resource_name=token_id, configs=[config]
        )
        answer: IncrementalAlterConfigsResponse = await self._link.forward(
            IncrementalAlterConfigsRequest(resources=[asked], validate_only=False),
            ALTER_CONFIGS_VERSION,
            timeout_ms=_TIMEOUT_MS,
        )
        for each in answer.responses:
            if each.error_code != ErrorCode.NONE:
                raise KafkaError(ErrorCode(each.error_code), each.error_message or "")
