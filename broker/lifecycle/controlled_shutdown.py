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
DEADLINE_MS: Final = 3_000
"""Of the whole hand-over: an operator waits for it."""
BACKOFF_MS_MAX: Final = 500
"""The controller answers when it has decided, so there is little to wait for between attempts."""

logger = logging.getLogger(__name__)


async def hand_over(
    link: ControllerLink,
    *,
    broker_id: int,
    broker_epoch: int,
    attempts_max: int,
    backoff_ms: int,
) -> bool:
    """Hand the leaderships over and tell whether all of them went, within ``DEADLINE_MS``.

    It gives up early when an attempt moved nothing: a partition without another replica in its Isr
    keeps its leader.

    Args:
        link: the connection to the controller.
        broker_id: this broker.
        broker_epoch: of its registration.
        attempts_max: Kafka's ``controlled.shutdown.max.retries``.
        backoff_ms: Kafka's ``controlled.shutdown.retry.backoff.ms``, cut to ``BACKOFF_MS_MAX``.

    Source: KafkaServer.controlledShutdown.
    """
    request = ControlledShutdownRequest(broker_id=broker_id, broker_epoch=broker_epoch)
    left_before: int | None = None
    try:
        async with asyncio.timeout(DEADLINE_MS / 1000):
            for _ in range(attempts_max):
                left = await _ask(link, request)
                if left == 0:
                    return True
                if left_before is not None and left is not None and left >= left_before:
                    break
                left_before = left
                await asyncio.sleep(min(backoff_ms, BACKOFF_MS_MAX) / 1000)
    except TimeoutError:
        logger.warning("controlled shutdown not finished within %d ms", DEADLINE_MS)
    return False


async def _ask(link: ControllerLink, request: ControlledShutdownRequest) -> int | None:
    """Return how many partitions are still led here, None without a usable answer."""
    try:
        response: ControlledShutdownResponse = await link.session_request(
            request, CONTROLLED_SHUTDOWN_VERSION, timeout_ms=DEADLINE_MS
        )
    except ConnectionError as exc:
        logger.warning("controlled shutdown: the controller does not answer: %s", exc)
        return None
    error_code = ErrorCode(response.error_code)
    if error_code is not ErrorCode.NONE:
        logger.warning("controlled shutdown refused: %s", error_code.name)
        return None
    left = len(response.remaining_partitions)
    logger.info("controlled shutdown: %d partitions still led here", left)
    return left
