"""Whose turn it is among moves: one at a time reads from or writes to a log dir.

More would not be faster, but clients' appends would wait behind all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager


class MoveTurns:
    """A turn per log dir; those who wait go in the order in which they came."""

    def __init__(self) -> None:
        self._turns: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def of(self, *paths: str) -> AsyncGenerator[None]:
        """Wait for the turn on all of ``paths`` and keep it for the length of a block."""
        async with AsyncExitStack() as held:
            for path in sorted(
                dict.fromkeys(paths)
            ):  # Alike for all, so that no two wait crosswise.
                await held.enter_async_context(self._turns.setdefault(path, asyncio.Lock()))
            yield
