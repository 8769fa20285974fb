"""The memory of one fetch's answer, from the first read until the answer is handed over.

Who sends the answer counts what the other end has not read. How much there is for all is decided
in `protocol.byte_budget`.
"""

from __future__ import annotations

import asyncio
from functools import partial
from types import TracebackType
from typing import Final, Self

from protocol.byte_budget import ByteBudget, Claim

FIRST_BYTES: Final = 1024 * 1024
"""What a fetch waits for: room for one batch, which it must give however large it is."""
_SHARE: Final = 4
"""One answer takes at most this part of what all may hold."""


class FetchRoom:
    """What one fetch holds. ``let_go`` of it at the end, or use it as a context manager."""

    __slots__ = ("_budget", "_held_bytes")

    def __init__(self, budget: ByteBudget) -> None:
        self._budget = budget
        self._held_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.let_go()

    def let_go(self) -> None:
        """Hold nothing any more."""
        self.hold(-self._held_bytes)

    @property
    def is_short(self) -> bool:
        """Whether a further fetch has to wait."""
        budget = self._budget
        free_bytes = budget.limit_bytes - budget.held_bytes
        return free_bytes < FIRST_BYTES or budget.waiting_count > 0

    @property
    def is_wanted(self) -> bool:
        """Whether others wait for what this fetch holds."""
        return self._held_bytes > 0 and self._budget.waiting_count > 0

    @property
    def bytes_max(self) -> int:
        """How large the answer may become; its first batch may be larger."""
        budget = self._budget
        free_bytes = budget.limit_bytes - budget.held_bytes
        return max(FIRST_BYTES, min(budget.limit_bytes // _SHARE, free_bytes))

    async def until_some(self) -> None:
        """Wait behind those that wait already, until there is room for one batch."""
        if not self.is_short:
            return  # As most often, at each look of each fetch that waits.
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        claim = Claim(FIRST_BYTES, partial(_finish, granted))
        if not self._budget.claim(claim):
            try:
                await granted
            except BaseException:
                self._budget.give_up(claim)
                raise
        self._budget.give_up(claim)

    def hold(self, size_bytes: int) -> None:
        """Count more bytes, or fewer for a negative number."""
        if size_bytes:
            self._held_bytes += size_bytes
            if size_bytes > 0:
                self._budget.held_bytes += size_bytes
            else:
                self._budget.give_back(-size_bytes)


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
