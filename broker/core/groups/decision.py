"""What one call to a shard of groups decides, while it is being decided."""

from __future__ import annotations

from typing import Any

from broker.core.coordination import Answer, Decided, Record, Waiter, record_size_bound


class Decision:
    """Gathers records and answers, in order, and says what time it is."""

    __slots__ = ("_answers", "_records", "now_ms", "size_bytes", "wall_ms")

    def __init__(self, now_ms: int, wall_ms: int) -> None:
        self.now_ms = now_ms
        self.wall_ms = wall_ms
        self.size_bytes = 0
        """What the records take in a batch at most."""
        self._records: list[Record] = []
        self._answers: list[Answer] = []

    def record(self, record: Record) -> None:
        """Have ``record`` appended, in one batch with the others."""
        self._records.append(record)
        self.size_bytes += record_size_bound(record)

    def answer(self, waiter: Waiter | None, response: Any) -> None:
        """Answer ``waiter``; None is nobody."""
        if waiter is not None:
            self._answers.append(Answer(waiter, response))

    def decided(self) -> Decided:
        """Return what was gathered."""
        return Decided(tuple(self._records), tuple(self._answers))
