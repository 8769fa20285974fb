"""How many bytes may be held at a time, and who waits for room: first come, first served.

It holds no bytes itself and knows nobody who does. Source: the model is MemoryPool.java, which
`queued.max.request.bytes` bounds.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

UNLIMITED_BYTES: Final = sys.maxsize
"""A limit that is none: Kafka writes it as -1."""


class Claim:
    """Room for so many bytes, asked for once: it waits, then holds, then is given up."""

    __slots__ = ("on_granted", "size_bytes")

    def __init__(self, size_bytes: int, on_granted: Callable[[], None]) -> None:
        """``on_granted`` is called if the claim had to wait, and must not ask for anything."""
        self.size_bytes = size_bytes
        self.on_granted = on_granted


class ByteBudget:
    """Bytes held against a limit.

    A claim that is larger than the limit is granted alone, once nothing is held: it would wait for
    ever. What is there already is taken without a claim; it makes others wait.
    """

    __slots__ = ("_on_short", "_waiting", "held_bytes", "limit_bytes", "waiting_count")

    def __init__(self, limit_bytes: int, on_short: Callable[[], None] | None = None) -> None:
        """Hold nothing yet; a negative limit is none. ``on_short`` is called when a claim waits."""
        self.limit_bytes = limit_bytes if limit_bytes >= 0 else UNLIMITED_BYTES
        self._on_short = on_short
        self.held_bytes = 0
        self._waiting: OrderedDict[Claim, None] = OrderedDict()
        self.waiting_count = 0
        """How many claims wait."""

    @property
    def free_bytes(self) -> int:
        """What can be taken without passing the limit."""
        return max(0, self.limit_bytes - self.held_bytes)

    def claim(self, claim: Claim) -> bool:
        """Tell whether ``claim`` is granted at once; if not it waits behind those that do."""
        if self._waiting or not self._has_room(claim):
            self._waiting[claim] = None
            self.waiting_count += 1
            if self._on_short is not None:
                self._on_short()
            return False
        self.held_bytes += claim.size_bytes
        return True

    def give_up(self, claim: Claim) -> None:
        """End a claim, whether it holds or still waits; exactly once per claim."""
        if claim in self._waiting:
            self._forget(claim)
            self._grant()
        else:
            self.give_back(claim.size_bytes)

    def take(self, size_bytes: int) -> None:
        """Count bytes that are there already."""
        self.held_bytes += size_bytes

    def give_back(self, size_bytes: int) -> None:
        """Let go of bytes that were taken; who waits for them is granted his claim."""
        self.held_bytes -= size_bytes
        assert self.held_bytes >= 0, f"{-self.held_bytes} bytes given back that nobody held"
        if self._waiting:
            self._grant()

    def _grant(self) -> None:
        while self._waiting:
            claim = next(iter(self._waiting))
            if not self._has_room(claim):
                return
            self._forget(claim)
            self.held_bytes += claim.size_bytes
            claim.on_granted()

    def _forget(self, claim: Claim) -> None:
        del self._waiting[claim]
        self.waiting_count -= 1

    def _has_room(self, claim: Claim) -> bool:
        return self.held_bytes == 0 or self.held_bytes + claim.size_bytes <= self.limit_bytes
