"""The wall clock of a simulated node: the world's time of day, more or less right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

EPOCH_MS: Final = 1_750_000_000_000
"""The time of day when a world begins: an afternoon of June 2025."""


class SimClock:
    """Implements ``WallClock``. A skew does not touch timers, as in a real system."""

    def __init__(self, now_us: Callable[[], int]) -> None:
        self._now_us = now_us
        self.skew_ms = 0
        """How far it is ahead of the world's time."""

    def now_ms(self) -> int:
        """Return the time of day of this machine."""
        return EPOCH_MS + self.skew_ms + self._now_us() // 1000
