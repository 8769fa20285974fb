"""How long a client waits after an error: longer each time, as Kafka's clients do (KIP-580).

Their jitter is left out: the world has its own. Source: ExponentialBackoff.java.
"""

from __future__ import annotations

from typing import Final

FIRST_MS: Final = 100
"""``retry.backoff.ms``."""
LAST_MS: Final = 1_000
"""``retry.backoff.max.ms``."""


class Backoff:
    """The waits of one loop: ``next_ms`` after each error, ``reset`` after each success."""

    __slots__ = ("_first_ms", "_next_ms")

    def __init__(self, first_ms: int = FIRST_MS) -> None:
        self._first_ms = self._next_ms = first_ms

    def next_ms(self) -> int:
        """Return how long to wait now; twice as long the next time, up to ``LAST_MS``."""
        now_ms = self._next_ms
        self._next_ms = max(now_ms, min(2 * now_ms, LAST_MS))
        return now_ms

    def reset(self) -> None:
        """Begin with the first wait again."""
        self._next_ms = self._first_ms
