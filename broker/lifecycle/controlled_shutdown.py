"""Controlled shutdown: asks the controller, in bounded time, to move the leaderships away.

It stops nothing here; the caller does so afterwards in any case.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from broker.lifecycle.controller_link import ControllerLink
from protocol.errors import ErrorCode
from protocol.messages.lifecycle import ControlledShutdownRequest, ControlledShutdownResponse

CONTROLLED_SHUTDOWN_VERSION: Final = 3
logger = logging.getLogger(__name__)


async def shut_down_in_order(
    link: ControllerLink,
    *,
    broker_id: int,
    broker_epoch: int,
    attempts_max: int,
    backoff_ms: int,
    deadline_ms: int,
) -> bool:
    """Hand the leaderships over and tell whether all of them went.

    Args:
        link: the connection to the controller.
        broker_id: this broker.
        broker_epoch: of its registration.
        attempts_max: Kafka's ``controlled.shutdown.max.retries``.
        backoff_ms: Kafka's ``controlled.shutdown.retry.backoff.ms``.
        deadline_ms: bound of the whole call.

    Source: KafkaServer.controlledShutdown.
    """
    request = ControlledShutdownRequest(broker_id=broker_id, broker_epoch=broker_epoch)
    try:
        async with asyncio.timeout(deadline_ms / 1000):
            for attempt in range(attempts_max):
                if attempt:
                    await asyncio.sleep(backoff_ms / 1000)
                if await _ask(link, request, deadline_ms):
                    return True
    except TimeoutError:
        logger.warning("controlled shutdown not finished within %d ms", deadline_ms)
    return False


async def _ask(link: ControllerLink, request: ControlledShutdownRequest, timeout_ms: int) -> bool:
    try:
        response: ControlledShutdownResponse = await link.session_request(
            request, CONTROLLED_SHUTDOWN_VERSION, timeout_ms=timeout_ms
        )
    except ConnectionError as exc:
        logger.warning("controlled shutdown: the controller does not answer: %s", exc)
        return False
    error_code = ErrorCode(response.error_code)
    left = len(response.remaining_partitions)
    if error_code is ErrorCode.NONE and left == 0:
        logger.info("controlled shutdown: the controller moved every leadership away")
        return True
    logger.warning("controlled shutdown: %s, %d partitions still led here", error_code.name, left)
    return False
