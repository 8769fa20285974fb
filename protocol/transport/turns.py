"""Large work in steps: one step, then everybody else who is ready, then the next step.

All large works of a process share the turns, so that many of them make others wait no longer than
one does. It decides nothing about what a step is.
"""

from __future__ import annotations

import asyncio
import gc
from collections import deque
from collections.abc import Generator
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")
_DROPPED_OF_A_STEP = 512


class Turns:
    """Who does large work asks for its next turn between two steps.

    Use it as a context manager around the whole: meanwhile no garbage is collected, as a collection
    would look at all of a large request at once.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_granting = False
        self._works_count = 0
        self._was_collecting = False

    def __enter__(self) -> None:
        self._works_count += 1
        if self._works_count == 1:
            self._was_collecting = gc.isenabled()
            gc.disable()

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._works_count -= 1
        if self._works_count == 0 and self._was_collecting:
            gc.enable()

    async def next(self) -> None:
        """Return when the next step may be done; at most one is granted per turn of the loop."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._waiting.append(turn)
        if not self._is_granting:
            self._is_granting = True
            loop.call_soon(self._grant)
        await turn

    async def run(self, steps: Generator[None, None, T]) -> T:
        """Go through ``steps`` and return what they return."""
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value
            await self.next()

    async def drop(self, items: list[Any]) -> None:
        """Empty a list that nobody else has: to free many objects takes long, too."""
        while len(items) > _DROPPED_OF_A_STEP:
            del items[-_DROPPED_OF_A_STEP:]
            await self.next()
        items.clear()

    def _grant(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                break
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._grant)
        else:
            self._is_granting = False
