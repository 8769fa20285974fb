"""Requests that wait: DelayedProduce for offsets, DelayedFetch for data.

Waking costs as much as there are waiters on that partition. No clock and no timers: the engine
calls ``expire``. Source: DelayedProduce.scala, DelayedFetch.scala.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from operator import itemgetter
from typing import Final, TypeAlias

from protocol.errors import ErrorCode

_REQUIRED: Final = itemgetter(0)


class DelayedProduce:
    """One Produce request: a code per part, and a call when the last one is known."""

    __slots__ = ("_on_done", "_remaining", "codes")

    def __init__(self, part_count: int, on_done: Callable[[], None]) -> None:
        self.codes: list[ErrorCode | None] = [None] * part_count
        self._remaining = part_count
        self._on_done = on_done

    @property
    def done(self) -> bool:
        """Whether every part has its code."""
        return self._remaining == 0

    def complete(self, index: int, code: ErrorCode) -> None:
        """Settle one part; a part settled before keeps its first code."""
        if self.codes[index] is not None:
            return
        self.codes[index] = code
        self._remaining -= 1
        if self._remaining == 0:
            self._on_done()

    def expire(self) -> list[int]:
        """Settle what still waits with REQUEST_TIMED_OUT; return those parts' indexes."""
        late = [index for index, code in enumerate(self.codes) if code is None]
        for index in late:
            self.complete(index, ErrorCode.REQUEST_TIMED_OUT)
        return late


_ProduceWait: TypeAlias = tuple[int, DelayedProduce, int]


class ProduceWaiters:
    """The produces that wait for one partition's offset to be reached, smallest first."""

    __slots__ = ("_waits",)

    def __init__(self) -> None:
        self._waits: list[_ProduceWait] = []

    def __len__(self) -> int:
        return len(self._waits)

    def add(self, required_offset: int, delayed: DelayedProduce, index: int) -> None:
        """Wait until the offset that the caller watches is at least ``required_offset``."""
        waits = self._waits
        if not waits or waits[-1][0] <= required_offset:
            waits.append((required_offset, delayed, index))
        else:
            # Only a duplicate of an older batch comes out of order.
            insort(waits, (required_offset, delayed, index), key=_REQUIRED)

    def reached(self, offset: int, code: ErrorCode) -> None:
        """Settle with ``code`` all that wait for ``offset`` or less."""
        waits = self._waits
        count = 0
        for required_offset, _, _ in waits:
            if required_offset > offset:
                break
            count += 1
        if count:
            settled = waits[:count]
            del waits[:count]
            _settle(settled, code)

    def fail(self, code: ErrorCode) -> None:
        """Settle all with ``code``."""
        settled, self._waits = self._waits, []
        _settle(settled, code)

    def discard(self, delayed: DelayedProduce) -> None:
        """Forget an expired request."""
        self._waits = [wait for wait in self._waits if wait[1] is not delayed]


def _settle(waits: list[_ProduceWait], code: ErrorCode) -> None:
    for _, delayed, index in waits:
        delayed.complete(index, code)


class DelayedFetch:
    """One waiting Fetch: which of its parts changed since it last looked."""

    __slots__ = ("_on_wake", "changed", "is_force_completed")

    def __init__(self, on_wake: Callable[[], None]) -> None:
        self.changed: dict[int, None] = {}
        """Indexes of changed parts, in the order in which they changed."""
        self.is_force_completed = False
        """Whether the wait shall end although nothing changed."""
        self._on_wake = on_wake

    def wake(self, index: int) -> None:
        """Part ``index`` has something new: data, an error, another leader."""
        self.changed[index] = None
        self._on_wake()

    def take_changed(self) -> list[int]:
        """Return the changed parts and start counting anew."""
        changed = list(self.changed)
        self.changed.clear()
        return changed

    def force_complete(self) -> None:
        """End the wait although nothing changed."""
        self.is_force_completed = True
        self._on_wake()


class FetchWaiters:
    """The fetches that wait at one partition."""

    __slots__ = ("_waits",)

    def __init__(self) -> None:
        self._waits: dict[DelayedFetch, int] = {}

    def __len__(self) -> int:
        return len(self._waits)

    def add(self, delayed: DelayedFetch, index: int) -> None:
        """Wake ``delayed`` for its part ``index`` from now on, until discarded."""
        self._waits[delayed] = index

    def discard(self, delayed: DelayedFetch) -> None:
        """Stop waking ``delayed``."""
        self._waits.pop(delayed, None)

    def wake(self) -> None:
        """Wake all; they stay until discarded."""
        for delayed, index in self._waits.items():
            delayed.wake(index)
