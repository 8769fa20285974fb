"""A server on a real socket, and a client that speaks to it through asyncio's own streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from struct import unpack
from typing import Any

from protocol.connection import ClientConnection, Peer, RequestReceived
from protocol.ports import Buffer
from protocol.transport.begun_answers import Body, LaterAnswer
from protocol.transport.rpc_server import RpcServer
from tests.deadlines import DEADLINE_S

HOST = "127.0.0.1"
METADATA = 3

Answer = Callable[[RequestReceived], Awaitable[LaterAnswer | Sequence[Buffer] | None]]


async def echo(request: RequestReceived) -> Sequence[Buffer] | None:
    return [request.body]


class UntilCancelled:
    """An answer that never comes: it waits until it is cancelled."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def __call__(self, _request: RequestReceived) -> Sequence[Buffer]:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()
        return []


class RawClient:
    """Speaks through asyncio's own streams, so that the server is tested against another reader."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._connection = ClientConnection("raw")

    def send(self, *bodies: bytes) -> None:
        for body in bodies:
            # From Python 3.12 on, asyncio never takes an empty buffer at the end for sent.
            self.writer.writelines(filter(None, self._connection.send_request(METADATA, 1, [body])))

    async def receive(self) -> bytes:
        async with asyncio.timeout(DEADLINE_S):
            size: int = unpack(">i", await self.reader.readexactly(4))[0]
            return (await self.reader.readexactly(size))[4:]

    async def is_closed_by_server(self) -> bool:
        async with asyncio.timeout(DEADLINE_S):
            try:
                return await self.reader.read(1) == b""
            except ConnectionError:
                return True


@asynccontextmanager
async def serving(answer: Answer, **options: Any) -> AsyncGenerator[tuple[RpcServer, int]]:
    async def dispatch(request: RequestReceived, peer: Peer) -> LaterAnswer | Body:
        assert peer.host == HOST
        return await answer(request)

    server = RpcServer(dispatch, **options)
    port = await server.start(HOST, 0)
    try:
        yield server, port
    finally:
        async with asyncio.timeout(DEADLINE_S):
            await server.stop()


@asynccontextmanager
async def connected(port: int) -> AsyncGenerator[RawClient]:
    client = RawClient(*await asyncio.open_connection(HOST, port))
    try:
        yield client
    finally:
        client.writer.close()


async def eventually(condition: Callable[[], bool]) -> None:
    """Let the loop turn until ``condition`` holds; only the server's inside shows it."""
    async with asyncio.timeout(DEADLINE_S):
        while not condition():  # noqa: ASYNC110 - the transport has no event to wait for
            await asyncio.sleep(0)
