"""Protocols that keep what they are told."""

from __future__ import annotations

import asyncio
from typing import Any


class Kept(asyncio.Protocol):
    """Keeps what comes, in order."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.data = bytearray()
        self.transport: Any = None
        self.lost: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.events.append("made")
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.data += data

    def eof_received(self) -> bool:
        self.events.append("eof")
        return False

    def pause_writing(self) -> None:
        self.events.append("pause")

    def resume_writing(self) -> None:
        self.events.append("resume")

    def connection_lost(self, exc: Exception | None) -> None:
        self.events.append("lost")
        if not self.lost.done():
            self.lost.set_result(exc)


class KeptBuffered(asyncio.BufferedProtocol):
    """The same, through a buffer of seven bytes."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.transport: Any = None
        self.pause_at: int | None = None
        self._buffer = bytearray(7)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        return memoryview(self._buffer)

    def buffer_updated(self, nbytes: int) -> None:
        self.data += self._buffer[:nbytes]
        if self.pause_at is not None and len(self.data) >= self.pause_at:
            self.pause_at = None
            self.transport.pause_reading()


async def pair(port: int = 0) -> tuple[Kept, Kept]:
    """Return both ends of a new connection, the client's first."""
    loop = asyncio.get_running_loop()
    made: list[Kept] = []

    def accept() -> Kept:
        made.append(Kept())
        return made[-1]

    server = await loop.create_server(accept, "127.0.0.1", port)
    _, client = await loop.create_connection(Kept, "127.0.0.1", server.sockets[0].getsockname()[1])
    return client, made[0]
