"""Which log is worth compacting, how far, and which of its segments become one.

It reads no batches; what stays of a batch is decided in `broker.core.batch_cleaning`.

Source: LogCleanerManager.scala (grabFilthiestCompactedLog, cleanableOffsets, maxCompactionDelay),
LogToClean, Cleaner.groupSegmentsBySize; KIP-354.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from protocol.configs.topic import TopicConfig
from protocol.ids import NO_TIMESTAMP

COMPACT: Final = "compact"
_RELATIVE_OFFSET_MAX: Final = 2**31 - 1
_NEVER: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionRules:
    """What a topic's configuration says about its compaction."""

    min_cleanable_dirty_ratio: float
    min_compaction_lag_ms: int
    max_compaction_lag_ms: int
    delete_retention_ms: int
    segment_bytes: int
    segment_index_bytes: int

    @classmethod
    def of(cls, config: TopicConfig) -> CompactionRules:
        """Take them from a topic's configuration."""
        return cls(
            min_cleanable_dirty_ratio=config.min_cleanable_dirty_ratio,
            min_compaction_lag_ms=config.min_compaction_lag_ms,
            max_compaction_lag_ms=config.max_compaction_lag_ms,
            delete_retention_ms=config.delete_retention_ms,
            segment_bytes=config.segment_bytes,
            segment_index_bytes=config.segment_index_bytes,
        )


class SegmentFacts(NamedTuple):
    """What the rules need to know of one segment."""

    base_offset: int
    size_bytes: int
    first_timestamp: int = NO_TIMESTAMP
    """The largest of the first batch; -1 without one, or when no rule asks for it."""
    largest_timestamp: int = NO_TIMESTAMP
    """The same holds."""
    offset_index_bytes: int = 0
    time_index_bytes: int = 0


class LogFacts(NamedTuple):
    """What the rules need to know of one log."""

    segments: Sequence[SegmentFacts]
    """By base offset, the active one last."""
    log_start_offset: int
    log_end_offset: int
    stable_offset: int
    """Nothing from here on is replicated and decided: the high watermark or last stable offset."""
    checkpoint: int | None
    """Where the last pass ended, if there was one."""


class FirstDirty(NamedTuple):
    """Where the part of a log begins that was not compacted yet."""

    offset: int
    is_reset: bool
    """The checkpoint was of no use and has to be written anew."""


class Dirtiness(NamedTuple):
    """How much of a log there is to compact."""

    first_dirty: FirstDirty
    uncleanable_offset: int
    """The base offset of the first segment that must stay as it is."""
    clean_bytes: int
    cleanable_bytes: int
    overdue_ms: int
    """How long ago ``max.compaction.lag.ms`` asked for a pass; 0 when it does not."""

    @property
    def ratio(self) -> float:
        """The share of what may be compacted and was not yet, from 0 to 1."""
        total_bytes = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total_bytes if total_bytes else 0.0

    def is_due(self, rules: CompactionRules) -> bool:
        """Tell whether a pass is worth it, or owed."""
        if self.overdue_ms > 0 and self.cleanable_bytes > 0:
            return True
        return self.ratio > rules.min_cleanable_dirty_ratio


def first_dirty(facts: LogFacts) -> FirstDirty:
    """Return where compaction goes on: at the checkpoint, unless that is outside the log."""
    checkpoint = facts.log_start_offset if facts.checkpoint is None else facts.checkpoint
    if facts.log_start_offset <= checkpoint <= facts.log_end_offset:
        return FirstDirty(checkpoint, is_reset=False)
    return FirstDirty(facts.log_start_offset, is_reset=True)


def measure(facts: LogFacts, rules: CompactionRules, now_ms: int) -> Dirtiness:
    """Measure one log; ``now_ms`` is wall-clock time.

    ``largest_timestamp`` of dirty segments counts with a ``min.compaction.lag.ms``,
    ``first_timestamp`` with a ``max.compaction.lag.ms``.
    """
    start, segments = first_dirty(facts), facts.segments
    active_base = segments[-1].base_offset
    dirty = segments_between(segments, start.offset, active_base)
    stable = min(facts.stable_offset, active_base, _young_from(dirty, rules, now_ms))
    held_back = segments_between(segments, max(stable, start.offset), active_base)
    bound = held_back[0].base_offset if held_back else active_base
    cleanable = segments_between(segments, min(start.offset, bound), bound)
    clean = [segment for segment in segments if segment.base_offset < start.offset]
    return Dirtiness(
        start,
        bound,
        sum(segment.size_bytes for segment in clean),
        sum(segment.size_bytes for segment in cleanable),
        _overdue_ms(dirty, rules, now_ms),
    )


def segments_between(
    segments: Sequence[SegmentFacts], start: int, end: int
) -> Sequence[SegmentFacts]:
    """Return the segment that ``start`` belongs to and those behind it that begin before ``end``.

    Nothing when ``start`` is not before ``end``.
    """
    if start >= end:
        return ()
    first = bisect_right(segments, start, key=lambda segment: segment.base_offset) - 1
    last = bisect_left(segments, end, key=lambda segment: segment.base_offset)
    return segments[max(first, 0) : last]


def group_segments(
    segments: Sequence[SegmentFacts], rules: CompactionRules, bound: int
) -> list[list[SegmentFacts]]:
    """Group neighbours so that each group, even if nothing goes, fits into one segment.

    ``bound`` is where the last of ``segments`` ends.
    """
    groups: list[list[SegmentFacts]] = []
    total = _Size(0, 0, 0)
    for number, segment in enumerate(segments):
        is_last = number + 1 == len(segments)
        last_offset = (bound if is_last else segments[number + 1].base_offset) - 1
        grown = total.plus(segment)
        if groups and grown.fits(rules) and _is_in_reach(groups[-1][0], segment, last_offset):
            groups[-1].append(segment)
            total = grown
        else:
            groups.append([segment])
            total = _Size(0, 0, 0).plus(segment)
    return groups


class _Size(NamedTuple):
    """What a group of segments weighs."""

    log_bytes: int
    offset_index_bytes: int
    time_index_bytes: int

    def plus(self, segment: SegmentFacts) -> _Size:
        return _Size(
            self.log_bytes + segment.size_bytes,
            self.offset_index_bytes + segment.offset_index_bytes,
            self.time_index_bytes + segment.time_index_bytes,
        )

    def fits(self, rules: CompactionRules) -> bool:
        index_bytes = max(self.offset_index_bytes, self.time_index_bytes)
        return self.log_bytes <= rules.segment_bytes and index_bytes <= rules.segment_index_bytes


def _is_in_reach(first: SegmentFacts, joining: SegmentFacts, last_offset: int) -> bool:
    """Tell whether all offsets can be written relative to those of the first segment."""
    return joining.size_bytes == 0 or last_offset - first.base_offset <= _RELATIVE_OFFSET_MAX


def _young_from(dirty: Sequence[SegmentFacts], rules: CompactionRules, now_ms: int) -> int:
    """Return where the first segment begins that ``min.compaction.lag.ms`` protects."""
    if rules.min_compaction_lag_ms > 0:
        for segment in dirty:
            if segment.largest_timestamp > now_ms - rules.min_compaction_lag_ms:
                return segment.base_offset
    return _NEVER


def _overdue_ms(dirty: Sequence[SegmentFacts], rules: CompactionRules, now_ms: int) -> int:
    timestamps = [segment.first_timestamp for segment in dirty if segment.first_timestamp > 0]
    if not timestamps:
        return 0
    return max(now_ms - rules.max_compaction_lag_ms - min(timestamps), 0)
