"""What is promised of the choice of what to compact, and of how far each log is compacted.

Source: LogCleanerManager.scala, LogToClean, Cleaner.groupSegmentsBySize; KIP-58, KIP-354.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Final

from broker.core import compaction as rules
from broker.core.cleaner_offsets import CleanerOffsets
from broker.core.compaction import CompactionRules, Dirtiness, FirstDirty, LogFacts, SegmentFacts
from protocol.ids import TopicPartition
from simulation.contracts.contract import Broken, of_function, of_method

_REACH: Final = 2**31 - 1


@of_function(rules.first_dirty)
def first_dirty(facts: LogFacts) -> Generator[None, FirstDirty, Broken]:
    """Compaction goes on where the last pass ended, if that is in the log."""
    found = yield
    start, end, known = facts.log_start_offset, facts.log_end_offset, facts.checkpoint
    is_outside = known is not None and (known < start or known > end)
    offset = start if known is None or is_outside else known
    return None if found == (offset, is_outside) else f"{found}, {start} to {end}, at {known}"


@of_function(rules.measure)
def measure(
    facts: LogFacts, rules_of_topic: CompactionRules, now_ms: int
) -> Generator[None, Dirtiness, Broken]:
    """What is stable and old enough is compacted, segment by segment, the active one never."""
    found = yield
    return _mismeasured(facts, rules_of_topic, now_ms, found)


def _mismeasured(facts: LogFacts, asked: CompactionRules, now_ms: int, found: Dirtiness) -> Broken:
    start, segments = found.first_dirty.offset, facts.segments
    bases = [segment.base_offset for segment in segments]
    sealed = list(zip(segments[:-1], bases[1:], strict=True))
    dirty = [(segment, end) for segment, end in sealed if end > start]
    kept = [segment.base_offset for segment, end in dirty if end > facts.stable_offset]
    young_ms = now_ms - asked.min_compaction_lag_ms
    if asked.min_compaction_lag_ms > 0:
        kept += [one.base_offset for one, _ in dirty if one.largest_timestamp > young_ms]
    bound = min([*kept, bases[-1]])
    times = [one.first_timestamp for one, _ in dirty if one.first_timestamp > 0]
    wanted = (
        bound,
        sum(one.size_bytes for one in segments if one.base_offset < start),
        sum(one.size_bytes for one, _ in dirty if one.base_offset < bound),
        max([0, *(now_ms - at - asked.max_compaction_lag_ms for at in times)]),
    )
    return None if found[1:] == wanted else f"{found}, not {wanted}: {facts}"


@of_method(Dirtiness, "is_due")
def is_due(found: Dirtiness, asked: CompactionRules) -> Generator[None, bool, Broken]:
    """A pass is due where enough is dirty, or something has waited for too long."""
    due = yield
    everything = found.clean_bytes + found.cleanable_bytes
    ratio = found.cleanable_bytes / everything if everything else 0
    wanted = ratio > asked.min_cleanable_dirty_ratio
    wanted = wanted or (found.overdue_ms > 0 < found.cleanable_bytes)
    return None if due is wanted else f"{due} with {found}, {asked.min_cleanable_dirty_ratio}"


@of_function(rules.group_segments)
def group_segments(
    segments: Sequence[SegmentFacts], asked: CompactionRules, bound: int
) -> Generator[None, list[list[SegmentFacts]], Broken]:
    """Neighbours become one segment as far as they fit into one, and none is left out."""
    groups = yield
    if [one for group in groups for one in group] != list(segments):
        return f"{groups} of {segments}"
    ends = [*(segment.base_offset for segment in segments[1:]), bound]
    end_of = {one.base_offset: end for one, end in zip(segments, ends, strict=False)}
    for number, group in enumerate(groups):
        if len(group) > 1 and not _fits(group, asked, end_of):
            return f"{group} does not fit into a segment"
        following = groups[number + 1][:1] if number + 1 < len(groups) else []
        if following and _fits([*group, *following], asked, end_of):
            return f"{following} would fit behind {group}"
    return None


def _fits(group: Sequence[SegmentFacts], asked: CompactionRules, end_of: Mapping[int, int]) -> bool:
    last = group[-1]
    reach = end_of[last.base_offset] - 1 - group[0].base_offset
    return (
        sum(one.size_bytes for one in group) <= asked.segment_bytes
        and sum(one.offset_index_bytes for one in group) <= asked.segment_index_bytes
        and sum(one.time_index_bytes for one in group) <= asked.segment_index_bytes
        and (reach <= _REACH or last.size_bytes == 0)
    )


@of_method(CleanerOffsets, "put")
def put(
    offsets: CleanerOffsets, path: str, tp: TopicPartition, offset: int
) -> Generator[None, None, Broken]:
    """A pass that ended is known, and is written down."""
    yield
    is_noted = offsets.get(path, tp) == offset and path in offsets._changed  # noqa: SLF001
    return None if is_noted else f"{offset} is noted as {offsets.get(path, tp)}"


@of_method(CleanerOffsets, "truncated")
def truncated(
    offsets: CleanerOffsets, path: str, tp: TopicPartition, offset: int
) -> Generator[None, None, Broken]:
    """What follows a cut was never compacted."""
    before = offsets.get(path, tp)
    yield
    after = offsets.get(path, tp)
    wanted = None if before is None else min(before, offset)
    return None if after == wanted else f"compacted to {before}, cut at {offset}: {after}"


@of_method(CleanerOffsets, "move")
def move(
    offsets: CleanerOffsets, tp: TopicPartition, source: str, target: str
) -> Generator[None, None, Broken]:
    """What is known of a log goes with it (KAFKA-8362)."""
    before = (offsets.get(source, tp), offsets.is_uncleanable(source, tp))
    yield
    after = (offsets.get(target, tp), offsets.is_uncleanable(target, tp))
    left = (offsets.get(source, tp), offsets.is_uncleanable(source, tp))
    if after != before or (source != target and left != (None, False)):
        return f"{before} becomes {after} in {target}, in {source} is left {left}"
    return None


@of_method(CleanerOffsets, "forget")
def forget(offsets: CleanerOffsets, path: str, tp: TopicPartition) -> Generator[None, None, Broken]:
    """Of a deleted log nothing is known, nor kept in the file."""
    before = offsets.get(path, tp)
    yield
    known = (offsets.get(path, tp), offsets.is_uncleanable(path, tp))
    is_told = before is None or path in offsets._changed  # noqa: SLF001 -- nothing public has it
    return None if known == (None, False) and is_told else f"{tp} in {path} is known: {known}"


@of_method(CleanerOffsets, "log_dir_failed")
def log_dir_failed(offsets: CleanerOffsets, path: str) -> Generator[None, None, Broken]:
    """Of a failed log dir nothing is known, and nothing is to be written there."""
    yield
    left = (offsets.offsets_of(path), offsets.uncleanable(path))
    is_due = path in offsets._changed  # noqa: SLF001 -- nothing public has it
    return f"{left} is left of {path}, to be written: {is_due}" if any(left) or is_due else None


@of_method(CleanerOffsets, "load")
def load(
    offsets: CleanerOffsets, path: str, known: Mapping[TopicPartition, int]
) -> Generator[None, None, Broken]:
    """A log dir's file says how far each log is compacted."""
    yield
    if offsets.offsets_of(path) != dict(known):
        return f"{known} is loaded as {offsets.offsets_of(path)}"
    return None
