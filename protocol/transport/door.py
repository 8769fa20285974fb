"""What a listener asks of those who come in by it, and what a client brings along."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from protocol.client_address import java_address
from protocol.connection import DEFAULT_LISTENER, CloseConnection, Peer, ServerConnection
from protocol.errors import Malformed
from protocol.ports import Buffer
from protocol.principal import ANONYMOUS, Principal
from protocol.transport.link_owner import Dispatch

logger = logging.getLogger(__name__)
HANDSHAKE_TIMEOUT_MS: Final = 10_000
"""How long a TLS handshake may take, at either end."""


class Entrance(Protocol):
    """One connection of a server, as who lets it in sees it."""

    peer: Peer

    def end(self) -> None:
        """End the request under way, and the connection once what was answered is sent."""
        ...


MakeConnection: TypeAlias = Callable[[int, bytearray], ServerConnection]
"""(bytes of a frame at most, receive buffer) -> the server's end of a connection."""
Admit: TypeAlias = Callable[[Entrance, ServerConnection, Dispatch], Dispatch]
"""Returns what answers the requests of one connection, in front of what answers all."""


def plain_connection(size_bytes_max: int, receive_buffer: bytearray) -> ServerConnection:
    """Return the server's end of a connection of which every frame is a request."""
    return ServerConnection(size_bytes_max, receive_buffer, waits=True)


class Door(NamedTuple):
    """One listener of a server."""

    listener: str = DEFAULT_LISTENER
    tls: ssl.SSLContext | None = None
    principal_of: Callable[[asyncio.BaseTransport], Principal] | None = None
    """Who is at the other end of a TLS connection, by its certificate."""
    admit: Admit | None = None
    make_connection: MakeConnection = plain_connection
    handshake_timeout_ms: int = HANDSHAKE_TIMEOUT_MS

    def peer_of(self, transport: asyncio.BaseTransport, number: int) -> Peer:
        """Return who came in by a connection."""
        name = transport.get_extra_info("peername") or ("", 0)
        principal = ANONYMOUS if self.principal_of is None else self.principal_of(transport)
        host = java_address(str(name[0]))
        return Peer(host, int(name[1]), number, self.listener, principal)


OPEN_DOOR: Final = Door()
"""Lets everybody in."""


def tell_end(peer: Peer, error: Exception) -> None:
    """Log why a connection is closed."""
    match error:
        case CloseConnection():
            logger.debug("%s: closed: %s", peer, error)
        case Malformed():
            logger.warning("%s: closed, it sent no request: %s", peer, error)
        case _:
            logger.error("%s: closed, its request failed", peer, exc_info=error)


AskRaw: TypeAlias = Callable[[int, int, Sequence[Buffer]], Awaitable[memoryview]]
"""(API key, version, request body) -> the response body."""


Authenticate: TypeAlias = Callable[[AskRaw], Awaitable[int]]
"""Authenticates a connection; returns the session's lifetime in ms, 0 for one without end.

Raises ConnectionError, with words, when the server refuses.
"""


class Key(NamedTuple):
    """What a client brings along to a door."""

    tls: ssl.SSLContext | None = None
    authenticate: Authenticate | None = None
    """Run before the first request of a connection."""

    def options(self) -> dict[str, Any]:
        """Return what ``create_connection`` is to be told."""
        if self.tls is None:
            return {}
        return {"ssl": self.tls, "ssl_handshake_timeout": HANDSHAKE_TIMEOUT_MS / 1000}


NO_KEY: Final = Key()
