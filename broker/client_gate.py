"""Holds clients' requests until the controller has told this process of the cluster.

Who waits, how many and how long is decided in ``broker.core.first_metadata``. It begins nothing:
the RPC server does, when ``HeldRequest.admitted`` is done.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Final

from broker.core.first_metadata import FirstMetadata
from protocol.connection import CloseConnection
from protocol.transport.held_request import Begin, HeldRequest

_ENDS: Final = "this broker ends"
logger = logging.getLogger(__name__)


class ClientGate:
    """One per broker. ``open`` it once; ``shut`` it when the broker ends."""

    __slots__ = ("_held", "_is_shut", "_rule", "_told_of_timeouts", "is_open")

    def __init__(self, rule: FirstMetadata | None = None) -> None:
        self.is_open = False
        """Read for every request."""
        self._rule = FirstMetadata() if rule is None else rule
        self._held: dict[int, asyncio.Future[None]] = {}
        self._is_shut = False
        self._told_of_timeouts = False

    @property
    def waiting_count(self) -> int:
        """How many requests wait."""
        return len(self._rule)

    @property
    def waiting_bytes(self) -> int:
        """How large they are, with what their connections sent behind them."""
        return self._rule.size_bytes

    def open(self) -> None:
        """Begin what waits, and hold nothing any more: the first UpdateMetadata was taken."""
        if self.is_open:
            return
        self.is_open = self._rule.is_known = True
        logger.info(
            "the controller has told this broker of the cluster: clients are served, %d requests "
            "waited for it",
            len(self._held),
        )
        for admitted in list(self._held.values()):
            _settle(admitted)

    def shut(self) -> None:
        """Close the connections whose requests wait, and those of requests to come."""
        self._is_shut = True
        for admitted in list(self._held.values()):
            _settle(admitted, CloseConnection(_ENDS))

    def hold(self, size_bytes: int, timeout_ms: int, begin: Begin) -> HeldRequest:
        """Let a request of ``size_bytes`` wait; ``begin`` is what answers it later.

        Raises:
            CloseConnection: there is no room for it, or this broker ends.
        """
        if self._is_shut:
            raise CloseConnection(_ENDS)
        loop = asyncio.get_running_loop()
        now_ms = int(loop.time() * 1000)
        number = self._rule.take(size_bytes, now_ms=now_ms, timeout_ms=timeout_ms)
        if number is None:
            raise CloseConnection(self._no_room())
        admitted: asyncio.Future[None] = loop.create_future()
        self._held[number] = admitted
        timer = loop.call_at(self._rule.until_ms(number) / 1000, self._time_out, number, timeout_ms)
        return HeldRequest(
            admitted, begin, partial(self._grow, number), partial(self._leave, number, timer)
        )

    def _grow(self, number: int, size_bytes: int) -> None:
        if number in self._held and not self._rule.grow(number, size_bytes):
            _settle(self._held[number], CloseConnection(self._no_room()))

    def _leave(self, number: int, timer: asyncio.TimerHandle) -> None:
        timer.cancel()
        self._held.pop(number, None)
        self._rule.leave(number)

    def _time_out(self, number: int, timeout_ms: int) -> None:
        why = f"the controller told this broker nothing of the cluster for {timeout_ms} ms"
        if not self._told_of_timeouts:
            self._told_of_timeouts = True
            logger.warning("connections of clients are closed: %s", why)
        _settle(self._held[number], CloseConnection(why))

    def _no_room(self) -> str:
        return (
            f"{len(self._rule)} requests of {self._rule.size_bytes} bytes wait already for the "
            "controller to tell of the cluster"
        )


def _settle(admitted: asyncio.Future[None], error: Exception | None = None) -> None:
    if admitted.done():
        return
    if error is None:
        admitted.set_result(None)
    else:
        admitted.set_exception(error)
        admitted.exception()  # Seen: its connection may be lost already, and nobody look.
