"""One connection to a broker, as bytes: what is sent leaves as it is, whole frames come back.

It does not pair answers with requests: whoever judges them must see those that fit nothing, too.
It needs nothing of the loop but ``create_connection`` and timers.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Sequence
from struct import Struct
from typing import Final

from protocol.connection import ClientConnection
from protocol.ports import Buffer
from protocol.security.client import OPEN, ClientSecurity
from protocol.security.sasl_client import Login, authenticates

_SIZE: Final = Struct(">i")
_ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
NEVER_S: Final = math.inf


class Connection:
    """Of streams that are connected; ``connect`` makes one."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._awaited_bytes: int | None = None
        """Of the frame whose size was read; None: a size is next."""
        self.is_closed = False
        """Whether the broker has closed it."""
        self.ends_s = NEVER_S
        """On the loop's clock: a login may hold for a time only."""

    @property
    def is_open(self) -> bool:
        """Whether something can be asked: neither end has hung up, and the login holds."""
        is_over = self.is_closed or self._reader.at_eof() or self._writer.is_closing()
        return not is_over and asyncio.get_running_loop().time() < self.ends_s

    async def send(self, data: bytes, *, chunk_bytes: int = 0) -> None:
        """Send bytes, in pieces if asked; a connection that is closed meanwhile is only noted."""
        step = chunk_bytes or max(len(data), 1)
        try:
            for at in range(0, len(data), step):
                self._writer.write(data[at : at + step])
                await self._writer.drain()
        except OSError:
            self.is_closed = True

    def half_close(self) -> None:
        """Tell the broker that nothing more will be sent."""
        with contextlib.suppress(OSError, NotImplementedError):
            self._writer.write_eof()

    async def frame(self, timeout_s: float) -> bytes | None:
        """Return the next whole answer without its size; None: it is closed, or nothing came.

        ``is_closed`` tells which.
        """
        if self.is_closed:
            return None
        try:
            async with asyncio.timeout(timeout_s):
                return await self._next()
        except TimeoutError:
            return None
        except (asyncio.IncompleteReadError, OSError):
            self.is_closed = True
            return None

    def close(self) -> None:
        """Let go of it; TLS would say goodbye first, and whoever judges may be gone by then."""
        if self._writer.get_extra_info("ssl_object") is not None:
            self._writer.transport.abort()
        else:
            self._writer.close()

    async def log_in(self, login: Login, timeout_s: float) -> int:
        """Carry an exchange of SASL out; return the session's lifetime in ms, 0 without one.

        Raises:
            ConnectionError: the broker refuses, hangs up, or does not answer in time.
        """
        line = ClientConnection(None)

        async def ask(api_key: int, api_version: int, body: Sequence[Buffer]) -> memoryview:
            await self.send(b"".join(line.send_request(api_key, api_version, body)))
            frame = await self.frame(timeout_s)
            if frame is None:
                raise ConnectionError("the broker hung up or said nothing during the login")
            (answer,) = line.receive_data(_SIZE.pack(len(frame)) + frame)
            return answer.body

        return await authenticates(login)(ask)

    async def _next(self) -> bytes:
        size = self._awaited_bytes
        if size is None:
            (size,) = _SIZE.unpack(await self._reader.readexactly(_SIZE.size))
            if not 0 <= size <= _ANSWER_BYTES_MAX:
                raise ConnectionError  # What follows cannot be told apart.
            self._awaited_bytes = size
        frame = await self._reader.readexactly(size)
        self._awaited_bytes = None
        return frame


async def connect(
    host: str, port: int, *, timeout_ms: int, security: ClientSecurity = OPEN
) -> Connection:
    """Connect, shake hands, and log in where the listener asks for it.

    Raises:
        OSError: nobody listens there, or the login is refused (LoginRefusedError).
    """
    timeout_s = timeout_ms / 1000
    tls, login = security
    async with asyncio.timeout(timeout_s):
        streams = await asyncio.open_connection(
            host, port, ssl=tls, server_hostname=None if tls is None else host
        )
    made = Connection(*streams)
    if login is not None:
        try:
            lifetime_ms = await made.log_in(login, timeout_s)
        except OSError:
            made.close()
            raise
        if lifetime_ms:
            made.ends_s = asyncio.get_running_loop().time() + lifetime_ms / 1000
    return made
