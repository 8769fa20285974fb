"""What happened in a world, as one running hash and the last events in words.

Two runs are the same when their hashes are. It keeps no more than the last events.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from protocol.ports import Buffer

LAST_EVENTS: Final = 50


class TraceEvent(NamedTuple):
    """One thing that happened."""

    at_us: int
    node: str
    what: str
    size_bytes: int
    """Of the content that belongs to it; the hash has seen the content itself."""

    def __str__(self) -> str:
        size = f" ({self.size_bytes} bytes)" if self.size_bytes else ""
        return f"{self.at_us / 1_000_000:12.6f} {self.node}: {self.what}{size}"


class Trace:
    """A running sha256 over (when, where, what, content)."""

    def __init__(self, last_events: int = LAST_EVENTS) -> None:
        self._hash = hashlib.sha256()
        self._last: deque[tuple[int, str, str, int]] = deque(maxlen=last_events)
        self.events_count = 0

    def note(self, at_us: int, node: str, what: str, content: Iterable[Buffer] = ()) -> None:
        """Add one event; ``content`` is hashed and not kept."""
        update = self._hash.update
        size_bytes = 0
        for part in content:
            update(part)
            size_bytes += len(part)
        update(f"\n{at_us} {node} {what} {size_bytes}\n".encode())
        self._last.append((at_us, node, what, size_bytes))
        self.events_count += 1

    @property
    def last(self) -> list[TraceEvent]:
        """The last events, oldest first."""
        return [TraceEvent(*event) for event in self._last]

    def hexdigest(self) -> str:
        """Return the hash of everything so far; more can be added behind it."""
        return self._hash.hexdigest()
