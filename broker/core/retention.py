"""Which of the oldest segments of a log go: by log start offset, by size, by age.

It removes nothing and looks at no file. Compaction has rules of its own.
Source: UnifiedLog.scala deleteOldSegments, deletableSegments (3.9).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class RetainedSegment(Protocol):
    """A segment as these rules see it."""

    @property
    def base_offset(self) -> int: ...  # noqa: D102
    @property
    def size_bytes(self) -> int: ...  # noqa: D102

    def newest_ms(self) -> int:
        """Return its largest timestamp; without timestamps, when its file was last written."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionLimits:
    """What a replica says about the age and size of its log."""

    high_watermark: int
    """Nothing at or behind it goes: the log start offset never passes it."""
    log_start_offset: int
    retention_ms: int
    """-1: no bound. Measured on this broker's clock; a timestamp in the future never expires."""
    retention_bytes: int
    """-1: no bound."""
    now_ms: int
    deletes: bool
    """``cleanup.policy`` has ``delete``; otherwise only the log start offset counts."""


class Expired(NamedTuple):
    """How many of the oldest segments go, by the first reason that holds."""

    by_start: int
    by_size: int
    by_age: int

    @property
    def total(self) -> int:
        """All of them; when that includes the active segment it is rolled first."""
        return self.by_start + self.by_size + self.by_age


def expired_segments(
    segments: Sequence[RetainedSegment], log_end_offset: int, limits: RetentionLimits
) -> Expired:
    """Decide for the segments of one log, oldest first; the last one is active."""
    walk = _Walk(segments, log_end_offset, limits.high_watermark)
    start = limits.log_start_offset
    by_start = walk.on(lambda _, next_base: next_base is not None and next_base <= start)
    if not limits.deletes:
        return Expired(by_start, 0, 0)
    return Expired(by_start, _by_size(walk, limits), _by_age(walk, limits))


class _Walk:
    """Goes from the oldest segment on for as long as they may go."""

    def __init__(
        self, segments: Sequence[RetainedSegment], log_end_offset: int, high_watermark: int
    ) -> None:
        self._segments = segments
        self._log_end_offset = log_end_offset
        self._high_watermark = high_watermark
        self._next = 0

    @property
    def left(self) -> Sequence[RetainedSegment]:
        """What stays so far."""
        return self._segments[self._next :]

    def on(self, goes: Callable[[RetainedSegment, int | None], bool]) -> int:
        """Let segments go while ``goes`` holds for them; return how many."""
        before = self._next
        while self._next < len(self._segments) and self._may_go(goes):
            self._next += 1
        return self._next - before

    def _may_go(self, goes: Callable[[RetainedSegment, int | None], bool]) -> bool:
        segment = self._segments[self._next]
        is_last = self._next + 1 == len(self._segments)
        next_base = None if is_last else self._segments[self._next + 1].base_offset
        if is_last and segment.size_bytes == 0:
            return False
        end_offset = self._log_end_offset if next_base is None else next_base
        return self._high_watermark >= end_offset and goes(segment, next_base)


def _by_size(walk: _Walk, limits: RetentionLimits) -> int:
    """Drop segments while what stays is still at least ``retention.bytes``."""
    excess_bytes = sum(segment.size_bytes for segment in walk.left) - limits.retention_bytes
    if limits.retention_bytes < 0 or excess_bytes < 0:
        return 0

    def goes(segment: RetainedSegment, _: int | None) -> bool:
        nonlocal excess_bytes
        if segment.size_bytes > excess_bytes:
            return False
        excess_bytes -= segment.size_bytes
        return True

    return walk.on(goes)


def _by_age(walk: _Walk, limits: RetentionLimits) -> int:
    if limits.retention_ms < 0:
        return 0
    return walk.on(lambda segment, _: limits.now_ms - segment.newest_ms() > limits.retention_ms)
