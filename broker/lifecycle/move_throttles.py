"""Takes the throttle of moves between log dirs off when the last move of this broker has ended.

Kafka's tool sets ``replica.alter.log.dirs.io.max.bytes.per.second`` on each broker, asks for the
moves, and takes it off when somebody runs it again. Here it goes by itself, as KIP-179 wanted. One
that is set for all brokers or in the cluster file is permanent and stays.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from broker.lifecycle.broker_configs import BrokerConfigs
from broker.lifecycle.controller_link import ControllerLink
from protocol.admin.configs import alter_configs_request
from protocol.configs.names import MOVE_RATE
from protocol.configs.types import ResourceType
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

INCREMENTAL_ALTER_CONFIGS_VERSION: Final = 1
SETTLE_MS: Final = 500
"""Moves that follow each other at once keep their throttle."""
_TIMEOUT_MS: Final = 5_000
_RETRY_MS: Final = 500
logger = logging.getLogger(__name__)


class MoveThrottles:
    """``run`` it once; tell it when the last move ended."""

    def __init__(
        self,
        link: ControllerLink,
        configs: BrokerConfigs,
        *,
        broker_id: int,
        is_moving: Callable[[], bool],
    ) -> None:
        self._link = link
        self._configs = configs
        self._broker_id = broker_id
        self._is_moving = is_moving
        self._wake = asyncio.Event()

    def moves_ended(self) -> None:
        """No replica of this broker moves any more, for now."""
        self._wake.set()

    async def run(self) -> None:
        """Take throttles off until cancelled; a controller that is away is asked again."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await asyncio.sleep(SETTLE_MS / 1000)
            try:
                await self._take_off()
            except KafkaError as error:
                logger.info("the throttle of moves is taken off later: %s", error)
                await asyncio.sleep(_RETRY_MS / 1000)
                self._wake.set()

    async def _take_off(self) -> None:
        configs = self._configs
        if self._is_moving() or not configs.config.jbodlab_reassignment_throttles_remove:
            return
        rate = configs.overrides.dynamic.get(MOVE_RATE)
        if rate is None:
            return
        # The controller answers when this broker has taken the change, for which it asks the
        # controller in its turn: that question must not stand behind this request.
        response: IncrementalAlterConfigsResponse = await self._link.forward(
            self._request(), INCREMENTAL_ALTER_CONFIGS_VERSION, timeout_ms=_TIMEOUT_MS
        )
        code = ErrorCode(response.responses[0].error_code)
        if code is ErrorCode.NONE:
            logger.info("the last move has ended: %s=%s is taken off", MOVE_RATE, rate)
        else:
            logger.warning("%s=%s stays: the controller answers %s", MOVE_RATE, rate, code.name)

    def _request(self) -> IncrementalAlterConfigsRequest:
        return alter_configs_request(ResourceType.BROKER, {str(self._broker_id): {MOVE_RATE: None}})
