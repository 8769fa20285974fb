"""What all connections of a server do together between two looks of the loop at everything else.

Each has turns that are short, and five hundred short turns are not: who waits for one answer needs
three looks, and a heartbeat would come too late. So a round takes so long and no longer. Where it
is over, connections read little and stand in line for a turn in one of the next; the cluster's own
nodes never wait for clients.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence, Sized
from typing import Final

from protocol.connection import RequestReceived

ROUND_S: Final = 0.01
LINKS_MIN: Final = 128
"""The turns of fewer connections are left as they are: together they are short enough."""
TURNS_MAX: Final = 256
"""Of those in line, in one round."""
LATE_REQUESTS_MAX: Final = 8
"""Of one connection: where the round is over, reading pauses when so many wait."""


class Rounds:
    """The rounds of one server."""

    def __init__(self, links: Sized, is_node: Callable[[str], bool] = lambda _: False) -> None:
        """Begin with none.

        Args:
            links: the connections that are open.
            is_node: tells by its client id who is one of the cluster's own nodes.
        """
        self._links = links
        self._is_node = is_node
        self._line: deque[asyncio.Future[None]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        """Of the round under way; None between two."""
        self._began_s = 0.0
        self._turns_count = 1
        """Of those in line: how many a round had time for."""

    def is_over(self) -> bool:
        """Tell whether the round has lasted long enough; ask before every read.

        A round begins with the first question in a turn of the loop and ends in the next.
        """
        loop = self._loop
        if loop is None:
            if len(self._links) >= LINKS_MIN:
                self._begin(asyncio.get_running_loop())
            return False
        return loop.time() - self._began_s > ROUND_S

    def holds_up(self, requests: Sequence[RequestReceived]) -> bool:
        """Tell whether a connection that has got these requests has to wait for its turn."""
        if not (self._line or self.is_over()):
            return False
        return not (requests and self._is_node(requests[0].client_id))

    async def next_turn(self) -> None:
        """Return when the next turn may be had: behind those in line, else after all others."""
        if not self._line and not self.is_over():
            await asyncio.sleep(0)
            return
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._line.append(turn)
        if self._loop is None:
            self._begin(loop)
        await turn

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._began_s = loop.time()
        loop.call_soon(self._end)

    def _end(self) -> None:
        """Let those at the head of the line have their turns: as many as a round has time for."""
        loop, self._loop = self._loop, None
        assert loop is not None
        if not self._line:
            return
        lasted_s = loop.time() - self._began_s
        if lasted_s > ROUND_S:
            self._turns_count = max(self._turns_count // 2, 1)
        elif lasted_s < ROUND_S / 2:
            self._turns_count = min(self._turns_count * 2, TURNS_MAX)
        left = self._turns_count
        while self._line and left:
            turn = self._line.popleft()
            if not turn.done():  # Else its connection has ended.
                turn.set_result(None)
                left -= 1
        self._begin(loop)
