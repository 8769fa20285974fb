"""Serves Kafka connections: requests are begun one after the other and answered in order.

It knows no API: who answers is given to it. It needs nothing of the loop but ``create_server``.
Source: SocketServer.scala (there a connection is muted until its response is queued).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

from protocol.connection import Peer, RequestReceived
from protocol.framing import FRAME_SIZE_BYTES_MAX, RECEIVE_BUFFER_BYTES
from protocol.transport.connection_watch import ConnectionLimits, ConnectionWatch
from protocol.transport.door import OPEN_DOOR, Door
from protocol.transport.flow_control import wake_up
from protocol.transport.link_owner import Dispatch
from protocol.transport.rounds import Rounds
from protocol.transport.server_link import ServerLink
from protocol.transport.server_memory import ServerMemory

logger = logging.getLogger(__name__)

ANSWER_TIMEOUT_MS: Final = 2_000
CLOSE_TIMEOUT_MS: Final = 500
"""How long a stop then waits for clients to take what was sent."""


class RpcServer:
    """Listens, and runs one task per connection in a task group of its own.

    ``start`` first, once for each listener, ``stop`` last and once.
    """

    def __init__(
        self,
        dispatch: Dispatch,
        *,
        size_bytes_max: int = FRAME_SIZE_BYTES_MAX,
        memory: ServerMemory | None = None,
        limits: ConnectionLimits = ConnectionLimits(),  # noqa: B008 -- frozen
        ends_with_peer: Callable[[RequestReceived], bool] = lambda _: False,
        answer_timeout_ms: int = ANSWER_TIMEOUT_MS,
    ) -> None:
        """Prepare to answer by ``dispatch``.

        Args:
            dispatch: who answers.
            size_bytes_max: of a request; a larger one closes its connection.
            memory: what requests and answers may hold; by default a budget of this server's own.
            limits: of connections.
            ends_with_peer: tells requests that are cancelled when their connection is lost.
            answer_timeout_ms: how long a stop waits for answers that are begun.
        """
        self._dispatch = dispatch
        self._answer_timeout_ms = answer_timeout_ms
        self._size_bytes_max = size_bytes_max
        self.memory = ServerMemory() if memory is None else memory
        self._ends_with_peer = ends_with_peer
        self._receive_buffer = bytearray(RECEIVE_BUFFER_BYTES)
        self._links: dict[int, ServerLink] = {}
        self.rounds = Rounds(self._links, self.memory.is_node)
        self._watch = ConnectionWatch(self._links.values, self.memory, limits)
        self._links_made = 0
        self._servers: list[asyncio.Server] = []
        self._stopping = asyncio.Event()
        self._all_answered: asyncio.Future[None] | None = None
        """Set while the server stops and answers are begun."""
        self._group: asyncio.TaskGroup | None = None
        self._supervisor: asyncio.Task[None] | None = None

    def limit(self, limits: ConnectionLimits) -> None:
        """Go by other limits; connections that are open stay."""
        self._watch.limits = limits

    @property
    def connection_count(self) -> int:
        """How many connections are open."""
        return len(self._links)

    @property
    def peers(self) -> list[Peer]:
        """The other ends of the connections that are open."""
        return [link.peer for link in self._links.values()]

    def transport_of(self, number: int) -> asyncio.Transport | None:
        """Return by what a connection sends; None when it is gone."""
        link = self._links.get(number)
        return None if link is None else link.transport

    def replace_transport(self, number: int, transport: asyncio.Transport) -> None:
        """Let a connection that is open send by another transport from now on."""
        self._links[number].transport = transport

    async def start(self, host: str, port: int, door: Door = OPEN_DOOR) -> int:
        """Listen on ``host``; return the port, which the system chooses for ``port`` 0.

        Raises:
            OSError: the address is taken or not ours.
        """
        loop = asyncio.get_running_loop()
        tls: dict[str, Any] = {}
        if door.tls is not None:
            tls = {"ssl": door.tls, "ssl_handshake_timeout": door.handshake_timeout_ms / 1000}
        make = partial(self._make_link, door)
        server = await loop.create_server(make, host, port, **tls)
        self._servers.append(server)
        if self._supervisor is None:
            ready = loop.create_future()
            # The one task outside a group: it holds the group, and ``stop`` awaits it.
            self._supervisor = loop.create_task(self._supervise(ready), name="rpc-server")
            await ready
        bound: int = server.sockets[0].getsockname()[1]
        return bound

    async def stop(self) -> None:
        """Stop listening, answer what is begun, cancel other requests, close the connections.

        What is begun has happened: a producer that is not told would send it again, to a broker
        that may know no more than its last batch. A connection with such an answer takes no further
        request; others are served meanwhile, as followers have to fetch what is to be answered.
        It takes ``answer_timeout_ms`` and ``CLOSE_TIMEOUT_MS`` at most.
        """
        if self._supervisor is None:
            return
        for server in self._servers:
            server.close()
        self._watch.stop()
        await self._answer_begun()
        self._stopping.set()
        await self._supervisor
        for server in self._servers:
            await server.wait_closed()

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
            wake_up(waiting)

    def ends_with_peer(self, request: RequestReceived) -> bool:
        """Tell whether a request is cancelled when its connection is lost."""
        return self._ends_with_peer(request)

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

    def _make_link(self, door: Door) -> ServerLink:
        connection = door.make_connection(self._size_bytes_max, self._receive_buffer)
        self._links_made += 1
        return ServerLink(self, connection, self._links_made, door)

    def link_opened(self, link: ServerLink) -> None:
        """Run the worker of a new connection."""
        if self._stopping.is_set() or self._group is None or not self._watch.open(link.peer):
            link.abort()
            return
        self._links[link.number] = link
        link.worker = self._group.create_task(self._serve(link), name=f"rpc-server-{link.number}")

    async def _serve(self, link: ServerLink) -> None:
        """Let a connection wait that came too soon, and serve it unless it is refused."""
        arrival = self._watch.limits.arrive(link.peer)
        if arrival.wait_ms:
            link.transport.pause_reading()
            await asyncio.sleep(arrival.wait_ms / 1000)
            if arrival.is_refused:
                link.close_because("its address opens more connections a second than its quota")
            elif not link.transport.is_closing():
                link.transport.resume_reading()
        await link.serve(link.admitted(self._dispatch))

    def link_closed(self, link: ServerLink) -> None:
        """Forget a connection that is closed and whose worker has ended."""
        if self._links.pop(link.number, None) is not None:
            self._watch.close(link.peer)
