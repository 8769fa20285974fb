"""What one call to a shard of groups decides, while it is being decided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from broker.core.coordination import Answer, Decided, Record, Waiter, record_size_bound
from protocol.records.batch import HEADER_SIZE_BYTES

Revert: TypeAlias = Callable[[], object]
"""Takes one change back."""


class Decision:
    """Gathers records and answers, in order, and says what time it is."""

    __slots__ = ("_answers", "_records", "_reverts", "now_ms", "size_bytes", "wall_ms")

    def __init__(self, now_ms: int, wall_ms: int) -> None:
        self.now_ms = now_ms
        self.wall_ms = wall_ms
        self.size_bytes = 0
        """What the records take in a batch at most."""
        self._records: list[Record] = []
        self._answers: list[Answer] = []
        self._reverts: list[Revert] = []

    def record(self, record: Record) -> None:
        """Have ``record`` appended, in one batch with the others."""
        self._records.append(record)
        self.size_bytes += record_size_bound(record)

    def changes(self, revert: Revert) -> None:
        """Note how to take back what is about to change."""
        self._reverts.append(revert)

    def fits(self, batch_bytes_max: int) -> bool:
        """Tell whether one batch of this size has room for all records."""
        return HEADER_SIZE_BYTES + self.size_bytes <= batch_bytes_max

    def revert(self) -> None:
        """Take back what changed, the last change first; nothing may be decided after that."""
        while self._reverts:
            self._reverts.pop()()

    def answer(self, waiter: Waiter | None, response: Any) -> None:
        """Answer ``waiter``; None is nobody."""
        if waiter is not None:
            self._answers.append(Answer(waiter, response))

    def decided(self) -> Decided:
        """Return what was gathered."""
        return Decided(tuple(self._records), tuple(self._answers))


def answered(
    waiter: Waiter, answer: Callable[[Decision], Any], now_ms: int, wall_ms: int
) -> Decided:
    """Return what ``answer`` decides, whose result is told to ``waiter``."""
    decision = Decision(now_ms, wall_ms)
    decision.answer(waiter, answer(decision))
    return decision.decided()
