"""How long work has to wait so that its bytes keep to a rate. It counts, it does not wait.

Source: Throttler.java.
"""

from __future__ import annotations

import math
from typing import Final

_DEBT_MS_MAX: Final = 60_000
"""No single piece of work is paid for longer, should the rate be tiny."""
_RESTS_PER_WORK: Final = 2
_REST_S_MAX: Final = 0.1


class Pacer:
    """One budget of bytes per second for all that ask."""

    __slots__ = ("_paid_until_ms",)

    def __init__(self) -> None:
        self._paid_until_ms = -math.inf

    def delay_ms(self, size_bytes: int, *, bytes_per_second: float, now_ms: float) -> float:
        """Count ``size_bytes`` as done now; return how long not to do more.

        ``now_ms`` is of a clock that never goes back. A rate below one byte counts as one.
        """
        cost_ms = min(size_bytes * 1000 / max(bytes_per_second, 1.0), _DEBT_MS_MAX)
        self._paid_until_ms = max(self._paid_until_ms, now_ms) + cost_ms
        return self._paid_until_ms - now_ms


def rest_s(worked_s: float, *, appends_count: int) -> float:
    """Return how long work in the background rests after ``worked_s`` seconds of it.

    Twice as long as it worked when there were appends meanwhile, so that at most every third of
    them can meet it, but not without bound: a disk that stands still is no reason to wait. Without
    appends nobody gains by a rest.
    """
    return min(_RESTS_PER_WORK * worked_s, _REST_S_MAX) if appends_count else 0.0
