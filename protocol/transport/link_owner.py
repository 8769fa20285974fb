"""Doors between a connection of a server and that server. No code."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias, TypeVar

from protocol.connection import Peer, RequestReceived
from protocol.transport.begun_answers import Body, LaterAnswer
from protocol.transport.held_request import HeldRequest
from protocol.transport.rounds import Rounds
from protocol.transport.server_memory import ServerMemory

LinkT_contra = TypeVar("LinkT_contra", contravariant=True)
Dispatch: TypeAlias = Callable[[RequestReceived, Peer], Awaitable[LaterAnswer | HeldRequest | Body]]
"""Answers a request with the parts of the response body, or None for no answer (acks=0).

With a ``LaterAnswer`` the next request of the connection is begun before that answer is there; a
``HeldRequest`` is begun later, and the next ones behind it.
Raising ``CloseConnection`` or ``Malformed`` closes the connection.
"""


class LinkOwner(Protocol[LinkT_contra]):
    """The server, as its connections see it."""

    @property
    def memory(self) -> ServerMemory:
        """What all connections may hold together."""
        ...

    @property
    def rounds(self) -> Rounds:
        """What all connections do together in one turn of the loop."""
        ...

    @property
    def is_stopping(self) -> bool:
        """Whether the server ends."""
        ...

    def ends_with_peer(self, request: RequestReceived) -> bool:
        """Tell whether a request is cancelled when its connection is lost."""
        ...

    def link_opened(self, link: LinkT_contra) -> None:
        """Run the worker of a new connection."""
        ...

    def link_answered(self) -> None:
        """Note that a connection has no begun answer left."""
        ...

    def link_closed(self, link: LinkT_contra) -> None:
        """Forget a connection that is closed and whose worker has ended."""
        ...
