"""A request that must not be begun yet: what a dispatcher returns in the place of its answer.

No sockets; the RPC server waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeAlias

from protocol.transport.begun_answers import Body, LaterAnswer

Begin: TypeAlias = Callable[[], Awaitable[LaterAnswer | Body]]
"""Begins a request and gives its answer."""


class HeldRequest(NamedTuple):
    """Nothing behind it on its connection is begun before it; it is dropped when that is lost."""

    admitted: asyncio.Future[None]
    """Done when it may be begun; with CloseConnection when it never will be.

    The server ends it so when the connection is lost.
    """
    begin: Begin
    """Called once, behind ``release``, when it is admitted."""
    received_more: Callable[[int], None]
    """Told how many bytes came behind it while it waits."""
    release: Callable[[], None]
    """Called once when it waits no more, whatever became of it."""
