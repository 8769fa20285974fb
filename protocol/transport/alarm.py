"""One timer of a loop, set to the earliest of the deadlines asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Alarm:
    """Rings once at the earliest deadline it was set to since it rang last. For one loop."""

    def __init__(self, ring: Callable[[], object]) -> None:
        """Be silent until ``ring_by``."""
        self._ring = ring
        self._timer: asyncio.Handle | None = None
        # The timer itself is not asked: uvloop's handle of one that is due already does not know.
        self._due_s = 0.0

    @property
    def is_set(self) -> bool:
        """Whether it is going to ring."""
        return self._timer is not None

    def ring_by(self, due_s: float) -> None:
        """Ring at a loop time, or earlier where it was set to that."""
        if self._timer is not None:
            if self._due_s <= due_s:
                return
            self._timer.cancel()
        self._due_s = due_s
        self._timer = asyncio.get_running_loop().call_at(due_s, self._ring_now)

    def silence(self) -> None:
        """Ring no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ring_now(self) -> None:
        self._timer = None
        self._ring()
