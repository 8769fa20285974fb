"""The broker's connections to the controller: one per kind of traffic, so that none waits.

The controller answers one request at a time per connection. Heartbeats therefore have a connection
of their own, and so has each forwarded request that waits; Isr changes and questions for producer
ids and configs share one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from protocol.errors import ErrorCode, KafkaError, MalformedAnswer
from protocol.ports import RpcPort

logger = logging.getLogger(__name__)

FORWARDS_MAX: Final = 8
"""Forwarded requests under way at once; the others wait their turn."""
REQUEST_TIMEOUT_MS: Final = 5_000
_REFUSED_RETRY_MS: Final = 50
FORWARD_GRACE_MS: Final = 2_000
"""How much longer a forward waits than its request allows the controller: the controller's own
answer to a request that ran out of time is to arrive, and one that allows no time is to be sent.
"""


class ControllerLink:
    """All traffic from one broker to the controller."""

    def __init__(
        self, connect: Callable[[], RpcPort], *, forward_grace_ms: int = FORWARD_GRACE_MS
    ) -> None:
        """Prepare; nothing connects before the first request.

        Args:
            connect: makes one more connection to the controller.
            forward_grace_ms: how much longer than its request's own timeout a forward waits.
        """
        self._forward_grace_ms = forward_grace_ms
        self._connect = connect
        self.heard: Callable[[Any], None] = lambda _answer: None
        """Told every answer that the controller gave to this broker itself."""
        self._session = connect()
        self._work = connect()
        self._idle_forwards: list[RpcPort] = []
        self._all_forwards: list[RpcPort] = []
        self._forward_slots = asyncio.Semaphore(FORWARDS_MAX)

    async def session_request(self, message: Any, version: int, *, timeout_ms: int) -> Any:
        """Send registration, heartbeat or controlled shutdown, pipelined in order of the calls.

        Raises:
            ConnectionError, TimeoutError: no answer.
        """
        answer = await self._session.request(message, version, timeout_ms=timeout_ms)
        self.heard(answer)
        return answer

    async def request(
        self, message: Any, version: int, *, timeout_ms: int = REQUEST_TIMEOUT_MS
    ) -> Any:
        """Send an Isr change, or ask for producer ids or configs.

        Not for what the controller answers only once brokers were told: what they are told makes
        them ask here, and that question would wait for the answer. ``forward`` takes such requests.

        Raises:
            ConnectionError, TimeoutError: no answer.
        """
        answer = await self._work.request(message, version, timeout_ms=timeout_ms)
        self.heard(answer)
        return answer

    async def forward(self, request: Any, version: int, *, timeout_ms: int) -> Any:
        """Pass a client's request on and return the controller's answer.

        A controller that does not listen is tried again until the time is up; one that took the
        request and went away is not: it may have done what was asked.

        Raises:
            KafkaError: REQUEST_TIMED_OUT, when the controller does not answer;
                UNKNOWN_SERVER_ERROR, when its answer cannot be read.

        Source: ForwardingManager.scala.
        """
        patience_ms = max(timeout_ms, 0) + self._forward_grace_ms
        try:
            async with asyncio.timeout(patience_ms / 1000), self._forward_slots:
                return await self._forward(request, version, patience_ms)
        except MalformedAnswer as exc:
            logger.warning("a client's request was forwarded in vain: %s", exc)
            raise KafkaError(
                ErrorCode.UNKNOWN_SERVER_ERROR, "The controller's answer cannot be read."
            ) from exc
        except (ConnectionError, TimeoutError) as exc:
            raise KafkaError(
                ErrorCode.REQUEST_TIMED_OUT, "The controller does not answer."
            ) from exc

    def close(self) -> None:
        """Drop every connection."""
        for connection in (self._session, self._work, *self._all_forwards):
            connection.close()

    async def _forward(self, request: Any, version: int, timeout_ms: int) -> Any:
        if not self._idle_forwards:
            self._idle_forwards.append(self._connect())
            self._all_forwards.append(self._idle_forwards[-1])
        connection = self._idle_forwards.pop()
        try:
            return await _ask(connection, request, version, timeout_ms)
        except asyncio.CancelledError:
            # What it waited for may never come, and the next one would stand behind it.
            self._all_forwards.remove(connection)
            connection.close()
            raise
        finally:
            if connection in self._all_forwards:
                self._idle_forwards.append(connection)


async def _ask(connection: RpcPort, request: Any, version: int, timeout_ms: int) -> Any:
    while True:
        try:
            return await connection.request(request, version, timeout_ms=timeout_ms)
        except ConnectionRefusedError:
            await asyncio.sleep(_REFUSED_RETRY_MS / 1000)
