"""Serves Kafka connections: requests are begun one after the other and answered in order.

It knows no API: who answers is given to it. It needs nothing of the loop but ``create_server``.
Source: SocketServer.scala (there a connection is muted until its response is queued).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeAlias, cast

from protocol.connection import CloseConnection, Peer, RequestReceived, ServerConnection
from protocol.errors import Malformed
from protocol.framing import FRAME_SIZE_BYTES_MAX, RECEIVE_BUFFER_BYTES
from protocol.ports import Buffer
from protocol.transport.begun_answers import BegunAnswers, Body, LaterAnswer
from protocol.transport.held_request import HeldRequest

logger = logging.getLogger(__name__)

Dispatch: TypeAlias = Callable[[RequestReceived, Peer], Awaitable[LaterAnswer | HeldRequest | Body]]
"""Answers a request with the parts of the response body, or None for no answer (acks=0).

With a ``LaterAnswer`` the next request of the connection is begun before that answer is there; a
``HeldRequest`` is begun later, and the next ones behind it.
Raising ``CloseConnection`` or ``Malformed`` closes the connection.
"""

QUEUED_REQUESTS_MAX: Final = 512
"""Reading pauses when this many requests of one connection wait, until none does."""
QUEUED_BYTES_MAX: Final = 4 * 1024 * 1024
"""Reading pauses when this much came in since no request of the connection waited."""
UNSENT_BYTES_MAX: Final = 1024 * 1024
"""No further request is begun while this much of the answers waits in the transport."""
COLLECTED_BUFFERS_MAX: Final = 128
"""Small answers that may leave together."""
ANSWER_TIMEOUT_MS: Final = 2_000
CLOSE_TIMEOUT_MS: Final = 500
"""How long a stop then waits for clients to take what was sent."""


class RpcServer:
    """Listens, and runs one task per connection in a task group of its own.

    ``start`` first, ``stop`` last; both once.
    """

    def __init__(
        self,
        dispatch: Dispatch,
        *,
        size_bytes_max: int = FRAME_SIZE_BYTES_MAX,
        answer_timeout_ms: int = ANSWER_TIMEOUT_MS,
    ) -> None:
        """``answer_timeout_ms``: how long a stop waits for answers that are begun."""
        self._dispatch = dispatch
        self._answer_timeout_ms = answer_timeout_ms
        self._size_bytes_max = size_bytes_max
        self._receive_buffer = bytearray(RECEIVE_BUFFER_BYTES)
        self._links: dict[int, _Link] = {}
        self._links_made = 0
        self._server: asyncio.Server | None = None
        self._stopping = asyncio.Event()
        self._all_answered: asyncio.Future[None] | None = None
        """Set while the server stops and answers are begun."""
        self._group: asyncio.TaskGroup | None = None
        self._supervisor: asyncio.Task[None] | None = None

    @property
    def connection_count(self) -> int:
        """How many connections are open."""
        return len(self._links)

    @property
    def peers(self) -> list[Peer]:
        """The other ends of the connections that are open."""
        return [link.peer for link in self._links.values()]

    async def start(self, host: str, port: int) -> int:
        """Listen on ``host``; return the port, which the system chooses for ``port`` 0.

        Raises:
            OSError: the address is taken or not ours.
        """
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._make_link, host, port)
        ready = loop.create_future()
        # The one task outside a group: it holds the group, and ``stop`` awaits it.
        self._supervisor = loop.create_task(self._supervise(ready), name="rpc-server")
        await ready
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def stop(self) -> None:
        """Stop listening, answer what is begun, cancel other requests, close the connections.

        What is begun has happened: a producer that is not told would send it again, to a broker
        that may know no more than its last batch. A connection with such an answer takes no further
        request; others are served meanwhile, as followers have to fetch what is to be answered.
        It takes ``answer_timeout_ms`` and ``CLOSE_TIMEOUT_MS`` at most.
        """
        if self._server is None or self._supervisor is None:
            return
        self._server.close()
        await self._answer_begun()
        self._stopping.set()
        await self._supervisor
        await self._server.wait_closed()

    async def _answer_begun(self) -> None:
        if not any(link.has_begun for link in self._links.values()):
            return
        self._all_answered = asyncio.get_running_loop().create_future()
        for link in self._links.values():
            if link.has_begun:
                link.take_no_more()
        try:
            async with asyncio.timeout(self._answer_timeout_ms / 1000):
                await self._all_answered
        except TimeoutError:
            count = sum(link.has_begun for link in self._links.values())
            logger.warning(
                "%d connections close with requests unanswered after %d ms",
                count,
                self._answer_timeout_ms,
            )

    @property
    def is_stopping(self) -> bool:
        """Whether ``stop`` was called and answers are begun, or none are any more."""
        return self._all_answered is not None or self._stopping.is_set()

    def link_answered(self) -> None:
        """Note that a connection has no begun answer left."""
        waiting = self._all_answered
        if waiting is not None and not any(link.has_begun for link in self._links.values()):
            _wake_up(waiting)

    async def _supervise(self, ready: asyncio.Future[None]) -> None:
        async with asyncio.TaskGroup() as group:
            self._group = group
            ready.set_result(None)
            await self._stopping.wait()
            links = list(self._links.values())
            for link in links:
                link.end()
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_TIMEOUT_MS / 1000):
                    for link in links:
                        await asyncio.shield(link.closed)
            for link in links:
                link.abort()
            for link in links:
                await link.closed

    def _make_link(self) -> _Link:
        connection = ServerConnection(self._size_bytes_max, self._receive_buffer)
        self._links_made += 1
        return _Link(self, connection, self._links_made)

    def link_opened(self, link: _Link) -> None:
        """Run the worker of a new connection."""
        if self._stopping.is_set() or self._group is None:
            link.abort()
            return
        self._links[link.number] = link
        link.worker = self._group.create_task(
            link.serve(self._dispatch), name=f"rpc-server-{link.number}"
        )

    def link_closed(self, link: _Link) -> None:
        """Forget a connection that is closed and whose worker has ended."""
        self._links.pop(link.number, None)


class _Link(asyncio.BufferedProtocol):
    """One connection: bytes in from the transport, requests to the worker, answers out."""

    def __init__(self, server: RpcServer, connection: ServerConnection, number: int) -> None:
        self._server = server
        self._connection = connection
        self._queue: deque[RequestReceived] = deque()
        self._queued_bytes = 0
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._is_reading_paused = False
        self._is_over = False
        self._takes_requests = True
        self._transport: asyncio.Transport
        self._unsent: list[Buffer] = []
        self._begun = BegunAnswers(self._send_all, self._fail)
        self._held: HeldRequest | None = None
        self._readable: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self.number = number
        self.peer = Peer("", 0)
        self.worker: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A cast, as not every loop's transport derives from asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=UNSENT_BYTES_MAX)
        name = transport.get_extra_info("peername")
        if name:
            self.peer = Peer(str(name[0]), int(name[1]), self.number)
        self._server.link_opened(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._connection.next_buffer()

    def buffer_updated(self, nbytes: int) -> None:
        self._queued_bytes += nbytes
        if self._held is not None:
            self._held.received_more(nbytes)
        requests = self._connection.received(nbytes)
        if not self._takes_requests:
            return  # It was read only so that closing does not reset the connection.
        self._queue.extend(requests)
        if (
            len(self._queue) >= QUEUED_REQUESTS_MAX
            or (self._queue and self._queued_bytes >= QUEUED_BYTES_MAX)
            or self._connection.malformed is not None
        ):
            self._is_reading_paused = True
            self._transport.pause_reading()
        if self._queue or self._connection.malformed is not None:
            _wake_up(self._readable)

    def eof_received(self) -> bool:
        return False  # as in Kafka, a client that stops sending gets no more answers

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set_result(None)
        self._queue.clear()
        self._begun.abandon()
        self._server.link_answered()
        if self._held is not None and not self._held.admitted.done():
            self._held.admitted.set_exception(CloseConnection("it left"))
        _wake_up(self._readable)
        _wake_up(self._writable)
        self._forget_if_over()

    def pause_writing(self) -> None:
        self._writable = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        _wake_up(self._writable)
        self._writable = None

    async def serve(self, dispatch: Dispatch) -> None:
        """Answer one request after the other until the connection is closed."""
        try:
            try:
                await self._answer_all(dispatch)
            except Exception as error:  # noqa: BLE001 -- one connection's bug must not end the others
                self._log_end(error)
            await self._begun.until_empty()
        finally:
            self._begun.abandon()
            self._server.link_answered()
            self._flush()
            self._transport.close()
            self._is_over = True
            self._forget_if_over()

    async def _answer_all(self, dispatch: Dispatch) -> None:
        begun = self._begun
        while self._queue or await self._has_request():
            request = self._queue.popleft()
            answer = await dispatch(request, self.peer)
            if isinstance(answer, HeldRequest):
                answer = await self._begin_when_admitted(answer)
            if isinstance(answer, LaterAnswer) or begun:
                self._begin(request, answer)
                if begun.is_full:
                    await begun.until_room()
            elif answer is None:
                self._connection.skip_response(request)
            else:
                self._send(self._connection.send_response(request, answer))
            if self._writable is not None:
                await self._writable

    async def _begin_when_admitted(self, held: HeldRequest) -> LaterAnswer | Body:
        """Begin a request later; reading goes on meanwhile, or nobody would notice a loss."""
        self._held = held
        try:
            await held.admitted
        finally:
            self._held = None
            held.release()
        return await held.begin()

    def _begin(self, request: RequestReceived, answer: LaterAnswer | Body) -> None:
        if not self.closed.done():
            self._begun.add(request, answer)
            if self._server.is_stopping:
                self.take_no_more()
        elif isinstance(answer, LaterAnswer):
            answer.abandon()

    def _send_all(self, answers: list[tuple[RequestReceived, Body]]) -> None:
        for request, body in answers:
            if body is None:
                self._connection.skip_response(request)
            else:
                self._unsent += self._connection.send_response(request, body)
        self._flush()
        if not self._begun:
            self._server.link_answered()

    def _fail(self, error: Exception) -> None:
        """Close because an answer that was begun could not be finished."""
        self._log_end(error)
        self._flush()
        self._transport.close()

    def _log_end(self, error: Exception) -> None:
        match error:
            case CloseConnection():
                logger.debug("%s: closed: %s", self.peer, error)
            case Malformed():
                logger.warning("%s: closed, it sent no request: %s", self.peer, error)
            case _:
                logger.error("%s: closed, its request failed", self.peer, exc_info=error)

    @property
    def has_begun(self) -> bool:
        """Whether an answer is begun and not sent."""
        return len(self._begun) > 0

    def take_no_more(self) -> None:
        """Begin no further request; those that wait are dropped."""
        self._takes_requests = False
        self._queue.clear()
        is_open = not self._transport.is_closing() and self._connection.malformed is None
        if self._is_reading_paused and is_open:
            self._is_reading_paused = False
            self._transport.resume_reading()

    def end(self) -> None:
        """End the request under way, and the connection once what was answered is sent."""
        self.take_no_more()
        if self.worker is not None:
            self.worker.cancel()
        self._begun.abandon()
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """End the connection at once."""
        self._transport.abort()

    def _forget_if_over(self) -> None:
        if self._is_over and self.closed.done():
            self._server.link_closed(self)

    async def _has_request(self) -> bool:
        """Read on, now that the queue is empty; False when no request will come."""
        self._queued_bytes = 0
        while not self._queue:
            if self._connection.malformed is not None:
                raise self._connection.malformed
            if self.closed.done():
                return False
            if self._is_reading_paused:
                self._is_reading_paused = False
                self._transport.resume_reading()
            self._readable = asyncio.get_running_loop().create_future()
            await self._readable
            self._readable = None
        return True

    def _send(self, response: list[Buffer]) -> None:
        """Collect answers while requests wait, so that one system call carries many."""
        self._unsent += response
        if not self._queue or len(self._unsent) >= COLLECTED_BUFFERS_MAX or len(response) > 1:
            self._flush()
        elif len(self._unsent) == 1:
            # Runs as soon as the worker waits for anything: no answer waits for another.
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        unsent, self._unsent = self._unsent, []
        if not unsent or self.closed.done():
            return
        if len(unsent) == 1:
            self._transport.write(unsent[0])
        else:
            self._transport.writelines(unsent)


def _wake_up(future: asyncio.Future[None] | None) -> None:
    if future is not None and not future.done():
        future.set_result(None)
