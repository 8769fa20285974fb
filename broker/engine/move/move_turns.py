"""Whose turn it is among moves: one at a time reads from or writes to a log dir.

More would not be faster, but clients' appends would wait behind all of them. While there are such
appends a turn rests twice as long as it worked: a broker has one process for both.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from broker.core.pacing import rest_s


class MoveTurns:
    """A turn per log dir; those who wait go in the order in which they came."""

    def __init__(self, appends_count: Callable[[], int]) -> None:
        """``appends_count``: how many appends there were so far, those of moves aside."""
        self._appends_count = appends_count
        self._turns: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def of(self, *paths: str) -> AsyncGenerator[None]:
        """Wait for the turn on all of ``paths`` and keep it for the length of a block, and a rest.

        Nobody rests after an error.
        """
        async with AsyncExitStack() as held:
            for path in sorted(
                dict.fromkeys(paths)
            ):  # Alike for all, so that no two wait crosswise.
                await held.enter_async_context(self._turns.setdefault(path, asyncio.Lock()))
            async with self.resting():
                yield

    @asynccontextmanager
    async def resting(self) -> AsyncGenerator[None]:
        """Rest after a block of work; not after an error."""
        loop = asyncio.get_running_loop()
        began_s, before_count = loop.time(), self._appends_count()
        yield
        appends_count = self._appends_count() - before_count
        left_s = rest_s(loop.time() - began_s, appends_count=appends_count)
        if left_s > 0:
            await asyncio.sleep(left_s)
