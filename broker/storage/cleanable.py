"""Which compacted log of a log dir needs a pass most, and the file that says how far each one is.

It measures; the rules are in `broker.core.compaction`. Runs on the log dir's thread.

Source: LogCleanerManager.scala grabFilthiestCompactedLog, OffsetCheckpointFile.java.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from broker.core.compaction import (
    CompactionRules,
    Dirtiness,
    LogFacts,
    SegmentFacts,
    first_dirty,
    measure,
)
from broker.storage.batch_scan import CorruptBatch
from broker.storage.checkpoints import (
    CLEANER_OFFSET_CHECKPOINT,
    CorruptCheckpoint,
    parse_offsets,
    render_offsets,
)
from broker.storage.log_reader import largest_timestamp
from broker.storage.partition_log import PartitionLog
from broker.storage.segment import Segment
from protocol.ids import NO_TIMESTAMP, TopicPartition
from protocol.ports import Disk

_LOGGER = logging.getLogger(__name__)
_NEVER_MS: Final = 2**63 - 1


class Candidate(NamedTuple):
    """A compacted log that may be cleaned now."""

    tp: TopicPartition
    log: PartitionLog
    checkpoint: int | None
    stable_offset: int
    """The last stable offset, which is not behind the high watermark."""
    rules: CompactionRules


class Filthiest(NamedTuple):
    """The log to clean next."""

    candidate: Candidate
    dirtiness: Dirtiness


class Survey(NamedTuple):
    """What a look at all candidates found."""

    filthiest: Filthiest | None
    dirtiest_ratio: float
    """Of all candidates, due or not."""
    resets: list[tuple[TopicPartition, int]]
    """Checkpoints that lay outside their logs, and what takes their place."""
    unreadable: list[tuple[TopicPartition, CorruptBatch]]


def survey(candidates: Sequence[Candidate], now_ms: int) -> Survey:
    """Measure all ``candidates`` and choose the one with the largest dirty share that is due.

    ``now_ms`` is wall-clock time. Raises OSError when the log dir is lost.
    """
    found = Survey(None, 0.0, [], [])
    for candidate in candidates:
        try:
            dirtiness = measure(facts_of(candidate), candidate.rules, now_ms)
        except CorruptBatch as exc:
            found.unreadable.append((candidate.tp, exc))
            continue
        start = dirtiness.first_dirty
        if start.is_reset:
            found.resets.append((candidate.tp, start.offset))
        found = found._replace(dirtiest_ratio=max(found.dirtiest_ratio, dirtiness.ratio))
        best = found.filthiest
        if dirtiness.is_due(candidate.rules) and (
            best is None or dirtiness.ratio > best.dirtiness.ratio
        ):
            found = found._replace(filthiest=Filthiest(candidate, dirtiness))
    return found


def facts_of(candidate: Candidate) -> LogFacts:
    """Describe one log; timestamps only of dirty segments, and only where a rule asks for them.

    Raises:
        CorruptBatch: a segment does not begin with a batch.
    """
    log, rules = candidate.log, candidate.rules
    segments = log.segments
    facts = LogFacts(
        [SegmentFacts(segment.base_offset, segment.size_bytes) for segment in segments],
        log.log_start_offset,
        log.log_end_offset,
        candidate.stable_offset,
        candidate.checkpoint,
    )
    if rules.min_compaction_lag_ms <= 0 and rules.max_compaction_lag_ms >= _NEVER_MS:
        return facts
    start = first_dirty(facts).offset
    ends = [segment.base_offset for segment in segments[1:]]
    timed = [
        _timed(segment, rules) if end > start else plain
        for segment, plain, end in zip(segments, facts.segments, ends, strict=False)
    ]
    return facts._replace(segments=[*timed, facts.segments[-1]])


def read_cleaner_offsets(disk: Disk) -> dict[TopicPartition, int]:
    """Read `cleaner-offset-checkpoint`; a damaged one only costs cleaning again."""
    try:
        return parse_offsets(disk.read_file(CLEANER_OFFSET_CHECKPOINT))
    except FileNotFoundError:
        return {}
    except CorruptCheckpoint as exc:
        _LOGGER.warning("%s/%s: %s; taken as empty", disk.root, CLEANER_OFFSET_CHECKPOINT, exc)
        return {}


def write_cleaner_offsets(disk: Disk, offsets: Mapping[TopicPartition, int]) -> None:
    """Replace `cleaner-offset-checkpoint`, durably."""
    disk.write_atomic(CLEANER_OFFSET_CHECKPOINT, render_offsets(offsets))


def _timed(segment: Segment, rules: CompactionRules) -> SegmentFacts:
    first = largest = NO_TIMESTAMP
    if rules.max_compaction_lag_ms < _NEVER_MS:
        first = segment.first_timestamp() or NO_TIMESTAMP
    if rules.min_compaction_lag_ms > 0:
        largest = largest_timestamp(segment)
    return SegmentFacts(segment.base_offset, segment.size_bytes, first, largest)
