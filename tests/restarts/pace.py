"""How many records a load sends now, and when it tells how far it is."""

from __future__ import annotations

import time

REPORT_S = 0.2


class Pace:
    """A steady rate; what was missed while the process stood still is not made up for."""

    def __init__(self, rate: int) -> None:
        """``rate``: records a second."""
        self._rate = rate
        self._due = 0.0
        self._last_s = time.monotonic()
        self._reported_s = self._last_s

    def due(self) -> int:
        """Return how many records to send since the last call, at most a tenth of a second's."""
        now_s = time.monotonic()
        self._due = min(self._due + (now_s - self._last_s) * self._rate, self._rate / 10 + 1)
        self._last_s = now_s
        count = int(self._due)
        self._due -= count
        return count

    def reports(self) -> bool:
        """Tell whether it is time for a report."""
        is_time = self._last_s - self._reported_s >= REPORT_S
        if is_time:
            self._reported_s = self._last_s
        return is_time
