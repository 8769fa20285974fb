"""What becomes of a connection that was just accepted: it is served, or waits, or is refused.

Who decides is given to the server; here are the words for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from protocol.connection import Peer


class Arrival(NamedTuple):
    """What a server is to do with a new connection."""

    wait_ms: int = 0
    """How long nothing is read of it."""
    is_refused: bool = False
    """Whether it is closed then, and not served."""


SERVED_AT_ONCE: Final = Arrival()
Arrive: TypeAlias = Callable[[Peer], Arrival]
"""(the client) -> what becomes of its connection."""


def serve_at_once(_peer: Peer) -> Arrival:
    """Let everybody in."""
    return SERVED_AT_ONCE
