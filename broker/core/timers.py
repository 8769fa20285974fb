"""Many deadlines at once, each with a key; renewing one costs next to nothing.

It calls nobody: whoever owns it asks ``next_due_ms`` and takes what is ``due``.
"""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heappop, heappush
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Timers(Generic[Key]):
    """Deadlines in ms of whatever clock the caller uses.

    A deadline that is put off, as each heartbeat does, leaves its entry in the heap where it is;
    the entry moves once it gets to the top. So each key has one entry that counts.
    """

    __slots__ = ("_due_ms", "_entries", "_heap", "_pushed")

    def __init__(self) -> None:
        self._due_ms: dict[Key, int] = {}
        self._entries: dict[Key, int] = {}
        self._heap: list[tuple[int, int, Key]] = []
        self._pushed = 0

    def __contains__(self, key: Key) -> bool:
        return key in self._due_ms

    def __len__(self) -> int:
        return len(self._due_ms)

    def due_ms(self, key: Key) -> int | None:
        """Return the deadline of ``key``."""
        return self._due_ms.get(key)

    def set(self, key: Key, due_ms: int) -> None:
        """Set the deadline of ``key``, in place of the one that it had."""
        before = self._due_ms.get(key)
        self._due_ms[key] = due_ms
        if before is None or due_ms < before:
            self._push(due_ms, key)

    def cancel(self, key: Key) -> None:
        """Take the deadline off; without need if there is none."""
        if self._due_ms.pop(key, None) is not None:
            del self._entries[key]

    def next_due_ms(self) -> int | None:
        """Return the earliest deadline."""
        heap = self._heap
        while heap:
            at_ms, entry, key = heap[0]
            is_counted = self._entries.get(key) == entry
            if is_counted and self._due_ms[key] == at_ms:
                return at_ms
            heappop(heap)
            if is_counted:
                self._push(self._due_ms[key], key)
        return None

    def take_due(self, now_ms: int) -> Key | None:
        """Take off one deadline that is reached and return its key; None when there is none."""
        due_ms = self.next_due_ms()
        if due_ms is None or due_ms > now_ms:
            return None
        _, _, key = heappop(self._heap)
        self.cancel(key)
        return key

    def _push(self, due_ms: int, key: Key) -> None:
        self._pushed += 1
        self._entries[key] = self._pushed
        heappush(self._heap, (due_ms, self._pushed, key))
