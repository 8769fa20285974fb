"""Compaction of one log: a pass in steps, each short enough to stand between two appends.

It runs on the log dir's thread and gives up when its segments change under it. When to clean which
log is the engine's, what stays of a batch `broker.core.batch_cleaning`'s.

Source: LogCleaner.scala (Cleaner).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from broker.core.batch_cleaning import (
    BatchCleaning,
    control_of,
    index_keys,
    last_of_producers,
)
from broker.core.batch_order import BatchOrder
from broker.core.cleaned_transactions import CleanedTransactions
from broker.core.compaction import CompactionRules, SegmentFacts, group_segments
from broker.core.leader_epochs import LeaderEpochs
from broker.core.offset_map import OffsetMap
from broker.storage.batch_scan import scan_batches
from broker.storage.indexes import AbortedTransaction
from broker.storage.layout import CLEANED_SUFFIX
from broker.storage.log_segments import SetAside
from broker.storage.partition_log import PartitionLog
from broker.storage.segment import Segment
from protocol.ports import Buffer
from protocol.records.batch import BatchHeader, read_batch_header

_Part: TypeAlias = Iterator[tuple[BatchHeader, memoryview]]
_SYNC_BYTES: Final = 8 << 20
"""The new segment is synced in parts, so that no part takes its disk for long."""


class SegmentsChanged(Exception):  # noqa: N818 -- says what it met
    """Segments of a pass were cut, removed or replaced meanwhile: its work is void."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassOptions:
    """What a pass takes from the broker's configuration and clock."""

    now_ms: int
    """Wall-clock time."""
    map_bytes_max: int = 128 << 20
    """``log.cleaner.dedupe.buffer.size``"""
    load_factor: float = 0.9
    """``log.cleaner.io.buffer.load.factor``"""
    step_bytes: int = 256 << 10
    """About how much one step reads."""
    step_records: int = 1000
    """About how many records one step looks at: some milliseconds, in which others wait."""
    epochs: LeaderEpochs = field(default_factory=LeaderEpochs)
    """Those of the log, as they were when the pass began: no later one concerns what it reads."""


class DirtyPart(NamedTuple):
    """Which offsets of a log are new since the last pass."""

    start: int
    end: int
    """The base offset of a segment: the first that must not change."""


class CleaningPass:
    """One pass over one log: call ``step`` until ``is_done``, each call a job of the log dir.

    Between steps the log may be appended to. A pass that is given up is to be discarded.
    """

    def __init__(
        self, log: PartitionLog, dirty: DirtyPart, rules: CompactionRules, options: PassOptions
    ) -> None:
        self.end_offset = dirty.start
        """Where the next pass goes on, once this one is done."""
        self.is_done = False
        self.read_bytes = 0
        self.written_bytes = 0
        self._log = log
        self._dirty = dirty
        self._rules = rules
        self._options = options
        self._left = [s for s in log.segments[:-1] if s.base_offset < dirty.end]
        self._left_bytes = [segment.size_bytes for segment in self._left]
        bases = [segment.base_offset for segment in self._left] + [dirty.end]
        self._ends = dict(pairwise(bases))
        self._cleaned: Segment | None = None
        self._unsynced_bytes = 0
        self._set_aside: list[SetAside] = []
        self._steps = self._run()

    def step(self) -> int:
        """Do the next part; return how many bytes it read and wrote.

        Raises:
            SegmentsChanged: give the pass up.
            CorruptBatch: the log holds what is no batch; the same goes for Malformed.
            OSError: the log dir is lost.
        """
        self._require_unchanged()
        before_bytes = self.read_bytes + self.written_bytes
        try:
            next(self._steps)
        except StopIteration:
            self.is_done = True
        return self.read_bytes + self.written_bytes - before_bytes

    def discard(self) -> None:
        """Remove what an unfinished pass has written; what it has replaced stays so."""
        cleaned, self._cleaned = self._cleaned, None
        if cleaned is not None and cleaned.files.suffix == CLEANED_SUFFIX:
            cleaned.delete()

    def take_set_aside(self) -> list[SetAside]:
        """Return the segments replaced since the last call; they wait for their removal."""
        taken, self._set_aside = self._set_aside, []
        return taken

    def _require_unchanged(self) -> None:
        """Compare with the log: retention, truncation and deletion need not know of the pass."""
        if not self._left:
            return
        sealed = self._log.segments[:-1]
        if self._left[0] not in sealed:
            raise SegmentsChanged(self._log.name)
        first = sealed.index(self._left[0])
        present = sealed[first : first + len(self._left)]
        if present != self._left or [one.size_bytes for one in present] != self._left_bytes:
            raise SegmentsChanged(self._log.name)

    # The pass: every yield ends a step.

    def _run(self) -> Iterator[None]:
        if not self._left:
            return
        offsets = self._new_map()
        yield from self._index(offsets)
        end_offset = offsets.latest_offset + 1
        cleaning = self._new_cleaning(offsets)
        for group in self._groups(end_offset):
            yield from self._clean(group, cleaning)
        self.end_offset = end_offset

    def _new_map(self) -> OffsetMap:
        return OffsetMap(
            self._options.map_bytes_max,
            keys_max=self._dirty.end - self._dirty.start,
            load_factor=self._options.load_factor,
        )

    def _new_cleaning(self, offsets: OffsetMap) -> BatchCleaning[AbortedTransaction]:
        cleaning: BatchCleaning[AbortedTransaction] = BatchCleaning(
            offsets=offsets,
            end_offset=self._dirty.end,
            producers=last_of_producers(self._log.producer_entries),
            now_ms=self._options.now_ms,
            delete_retention_ms=self._rules.delete_retention_ms,
        )
        first = self._left[0].base_offset
        cleaning.transactions.expect(self._log.aborted_transactions(first, self._dirty.end))
        return cleaning

    # The dirty part into the map.

    def _index(self, offsets: OffsetMap) -> Iterator[None]:
        start, end = self._dirty
        offsets.advance(start - 1)
        transactions: CleanedTransactions[AbortedTransaction] = CleanedTransactions()
        transactions.expect(self._log.aborted_transactions(start, end))
        for segment in self._left:
            segment_end = self._ends[segment.base_offset]
            if segment_end <= start:
                continue
            position = segment.position_of(start) if start > segment.base_offset else 0
            order = self._order(segment)
            while position < segment.size_bytes:
                part = self._part(segment, position, order)
                read_bytes = self._index_part(part, offsets, transactions)
                yield
                if read_bytes is None:
                    return
                position += read_bytes
            offsets.advance(segment_end - 1)

    def _order(self, segment: Segment) -> BatchOrder:
        base_offset = segment.base_offset
        return BatchOrder(base_offset, self._ends[base_offset], self._options.epochs)

    def _index_part(
        self,
        part: _Part,
        offsets: OffsetMap,
        transactions: CleanedTransactions[AbortedTransaction],
    ) -> int | None:
        """Index the batches of one step; return their bytes, None when the map is full."""
        part_bytes = 0
        for header, batch in part:
            if header.is_control:
                transactions.read_marker(header, control_of(header, batch))
            elif not transactions.read_data(header) and not index_keys(
                offsets, header, batch, self._dirty.start
            ):
                return None
            if header.last_offset >= self._dirty.start:
                offsets.advance(header.last_offset)
            part_bytes += header.size_bytes
        return part_bytes

    def _part(self, segment: Segment, position: int, order: BatchOrder) -> _Part:
        """Give batches from ``position`` on, as many as one step takes.

        The file is asked for in every step: between two of them its handle may be closed.
        """
        left_bytes, left_records = self._options.step_bytes, self._options.step_records
        for _, header, batch in scan_batches(
            segment.file(), position, segment.size_bytes, verify=True, order=order
        ):
            self.read_bytes += header.size_bytes
            left_bytes -= header.size_bytes
            left_records -= header.records_count
            yield header, batch
            if left_bytes <= 0 or left_records <= 0:
                return

    # Groups of segments into new ones.

    def _groups(self, end_offset: int) -> list[Sequence[Segment]]:
        segments = [segment for segment in self._left if segment.base_offset < end_offset]
        facts = [
            SegmentFacts(
                segment.base_offset,
                segment.size_bytes,
                offset_index_bytes=len(segment.offset_index.entries),
                time_index_bytes=len(segment.time_index.entries),
            )
            for segment in segments
        ]
        groups: list[Sequence[Segment]] = []
        first = 0
        for group in group_segments(facts, self._rules, self._dirty.end):
            groups.append(segments[first : first + len(group)])
            first += len(group)
        return groups

    def _clean(
        self, group: Sequence[Segment], cleaning: BatchCleaning[AbortedTransaction]
    ) -> Iterator[None]:
        cleaned = self._begin_segment(group)
        for segment in group:
            position, order = 0, self._order(segment)
            while position < segment.size_bytes:
                part = self._part(segment, position, order)
                position += self._clean_part(part, cleaning, cleaned)
                yield
        cleaned.seal()
        cleaned.sync()
        yield
        self._set_aside.append(self._log.replace_segments(group, [cleaned]))
        self._cleaned = None
        del self._left[: len(group)]
        del self._left_bytes[: len(group)]
        yield

    def _begin_segment(self, group: Sequence[Segment]) -> Segment:
        self._cleaned = cleaned = Segment(
            group[0].directory,
            group[0].base_offset,
            self._log.config,
            created_ms=group[-1].created_ms,
            suffix=CLEANED_SUFFIX,
        )
        cleaned.delete()
        cleaned.file()
        self._unsynced_bytes = 0
        return cleaned

    def _clean_part(
        self, part: _Part, cleaning: BatchCleaning[AbortedTransaction], cleaned: Segment
    ) -> int:
        """Copy what stays of the batches of one step; return their bytes."""
        part_bytes = 0
        kept: list[Buffer] = []
        written_bytes = cleaned.size_bytes
        for header, batch in part:
            part_bytes += header.size_bytes
            left = cleaning.clean(header, batch)
            if left is not None:
                cleaned.note(read_batch_header(left), written_bytes)
                written_bytes += len(left)
                kept.append(left)
        self._write(cleaned, kept, written_bytes - cleaned.size_bytes)
        for aborted in cleaning.transactions.kept:
            cleaned.append_aborted(aborted)
        cleaning.transactions.kept.clear()
        return part_bytes

    def _write(self, cleaned: Segment, kept: Sequence[Buffer], size_bytes: int) -> None:
        if not kept:
            return
        cleaned.append(kept)
        self.written_bytes += size_bytes
        self._unsynced_bytes += size_bytes
        if self._unsynced_bytes >= _SYNC_BYTES:
            cleaned.file().sync()
            self._unsynced_bytes = 0
