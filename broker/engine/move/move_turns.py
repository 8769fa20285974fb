"""Whose turn it is among moves: one at a time reads from or writes to a log dir.

More would not be faster, but clients' appends would wait behind all of them. While there are such
appends a turn rests twice as long as it worked: a broker has one process for both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType

from broker.core.pacing import rest_s


class MoveTurns:
    """A turn per log dir; those who wait go in the order in which they came."""

    def __init__(self, appends_count: Callable[[], int]) -> None:
        """``appends_count``: how many appends there were so far, those of moves aside."""
        self._appends_count = appends_count
        self._turns: dict[str, asyncio.Lock] = {}

    def of(self, *paths: str) -> AbstractAsyncContextManager[None]:
        """Wait for the turn on all of ``paths`` and keep it for the length of a block, and a rest.

        Nobody rests after an error.
        """
        # Alike for all, so that no two wait crosswise.
        ordered = sorted(dict.fromkeys(paths))
        locks = [self._turns.setdefault(path, asyncio.Lock()) for path in ordered]
        return _Turn(locks, self.resting())

    def resting(self) -> AbstractAsyncContextManager[None]:
        """Rest after a block of work; not after an error."""
        return _Rest(self._appends_count)


class _Turn(AbstractAsyncContextManager[None]):
    """No generator: a loop that ends closes those, and then the moves that are in them."""

    def __init__(
        self, locks: Sequence[asyncio.Lock], rest: AbstractAsyncContextManager[None]
    ) -> None:
        self._contexts = (*locks, rest)
        self._held = AsyncExitStack()

    async def __aenter__(self) -> None:
        async with AsyncExitStack() as held:
            for context in self._contexts:
                await held.enter_async_context(context)
            self._held = held.pop_all()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._held.__aexit__(kind, error, trace)


class _Rest(AbstractAsyncContextManager[None]):
    def __init__(self, appends_count: Callable[[], int]) -> None:
        self._appends_count = appends_count
        self._began_s = 0.0
        self._before_count = 0

    async def __aenter__(self) -> None:
        self._began_s = asyncio.get_running_loop().time()
        self._before_count = self._appends_count()

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            return
        worked_s = asyncio.get_running_loop().time() - self._began_s
        left_s = rest_s(worked_s, appends_count=self._appends_count() - self._before_count)
        if left_s > 0:
            await asyncio.sleep(left_s)
