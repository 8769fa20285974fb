"""The answers of one connection that are begun and not sent: they leave in the order of requests.

A request whose answer takes a while need not hold up the next one, only the next one's answer.
No sockets, no requests: who sends is given to it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from protocol.connection import RequestReceived
from protocol.ports import Buffer
from protocol.transport.flow_control import wake_up

BEGUN_REQUESTS_MAX: Final = 64
"""No further request of a connection is begun while so many wait for their answers."""
BEGUN_BYTES_MAX: Final = 4 * 1024 * 1024
"""Nor while those that wait were so large together."""

Body: TypeAlias = Sequence[Buffer] | None
"""The parts of a response body; None for no response (acks=0)."""


class LaterAnswer(NamedTuple):
    """An answer that is begun; what follows of it needs no more waiting than for ``ready``."""

    ready: asyncio.Future[None]
    finish: Callable[[], Body]
    """Called once, when ``ready`` is done and all earlier answers are sent."""
    abandon: Callable[[], None]
    """Called instead when nobody will read the answer."""


class _Begun(NamedTuple):
    request: RequestReceived
    answer: LaterAnswer | Body


class BegunAnswers:
    """A queue of answers; the first one is sent as soon as it is ready."""

    __slots__ = ("_begun", "_fail", "_moved", "_send_all", "count", "size_bytes")

    def __init__(
        self,
        send_all: Callable[[list[tuple[RequestReceived, Body]]], None],
        fail: Callable[[Exception], None],
    ) -> None:
        """``send_all`` gets answers in order; ``fail`` what ``finish`` raised, at most once."""
        self._send_all = send_all
        self._fail = fail
        self._begun: deque[_Begun] = deque()
        self.count = 0
        """How many are here; read for every request."""
        self.size_bytes = 0
        """How large their requests are together."""
        self._moved: asyncio.Future[None] | None = None

    @property
    def is_full(self) -> bool:
        """Whether no further request may be begun."""
        return self.count >= BEGUN_REQUESTS_MAX or self.size_bytes >= BEGUN_BYTES_MAX

    def add(self, request: RequestReceived, answer: LaterAnswer | Body) -> None:
        """Send ``answer`` when it is ready and all answers added before are sent."""
        self._begun.append(_Begun(request, answer))
        self.count += 1
        self.size_bytes += len(request.body)
        if isinstance(answer, LaterAnswer):
            answer.ready.add_done_callback(self._send_ready)

    async def until_room(self) -> None:
        """Wait until a further request may be begun."""
        while self.is_full:
            await self._until_moved()

    async def until_empty(self) -> None:
        """Wait until all are sent or abandoned."""
        while self._begun:
            await self._until_moved()

    def abandon(self) -> None:
        """Send none of those that are left."""
        begun, self._begun = self._begun, deque()
        self.count = self.size_bytes = 0
        for _, answer in begun:
            if isinstance(answer, LaterAnswer):
                answer.abandon()
        wake_up(self._moved)

    def _send_ready(self, _ready: asyncio.Future[None]) -> None:
        begun = self._begun
        answers: list[tuple[RequestReceived, Body]] = []
        failure: Exception | None = None
        while begun and failure is None:
            request, answer = begun[0]
            if isinstance(answer, LaterAnswer) and not answer.ready.done():
                break
            begun.popleft()
            self.count -= 1
            self.size_bytes -= len(request.body)
            try:
                body = answer.finish() if isinstance(answer, LaterAnswer) else answer
            except Exception as error:  # noqa: BLE001 -- goes to the connection's own handler
                failure = error
            else:
                answers.append((request, body))
        if answers:
            self._send_all(answers)
            wake_up(self._moved)
        if failure is not None:
            self._fail(failure)
            self.abandon()

    async def _until_moved(self) -> None:
        self._moved = asyncio.get_running_loop().create_future()
        await self._moved
        self._moved = None
