"""LogSegments: the segments of one log in order, and the producer state that was written with them.

It grows, cuts, shortens and replaces them; it decides nothing and knows neither the log start
offset nor what is durable. Segments that leave are renamed to `.deleted` first.

Source: LocalLog.scala, LogSegments.java.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker.core.producers import ProducerStates
from broker.storage.dropped_segments import drop_from
from broker.storage.indexes import aborted_entry
from broker.storage.layout import CLEANED_SUFFIX, DELETED_SUFFIX, SWAP_SUFFIX
from broker.storage.log_reader import segment_number
from broker.storage.segment import LogConfig, Segment
from broker.storage.segment_files import PartitionFiles
from broker.storage.snapshots import Snapshots
from protocol.ports import Buffer
from protocol.records.batch import BatchHeader


class SetAside:
    """Segments that left their log; their files wait under `.deleted` names."""

    __slots__ = ("_segments",)

    def __init__(self, segments: Sequence[Segment]) -> None:
        self._segments = list(segments)

    @property
    def size_bytes(self) -> int:
        """Of the `.log` files."""
        return sum(segment.size_bytes for segment in self._segments)

    def remove(self) -> None:
        """Remove the files, on the log dir's thread; those already gone are no error."""
        for segment in self._segments:
            segment.delete()


class LogSegments:
    """Never empty, for the loop reads it; the last segment is the active one.

    Everything else is for the log dir's thread.
    Every method may raise OSError, which takes the log dir offline.
    """

    __slots__ = ("_snapshots", "directory", "producers", "segments")

    def __init__(
        self,
        directory: PartitionFiles,
        segments: Sequence[Segment],
        producers: ProducerStates,
        snapshots: Snapshots,
    ) -> None:
        """Take over segments that are complete."""
        self.directory = directory
        self.segments = list(segments)
        self.producers = producers.for_snapshots()
        """As of the end of the active segment."""
        self._snapshots = snapshots

    @property
    def active(self) -> Segment:
        """The one that is written."""
        return self.segments[-1]

    @property
    def size_bytes(self) -> int:
        """Of all `.log` files."""
        return sum(segment.size_bytes for segment in self.segments)

    def note(
        self,
        buffer: Buffer,
        batches: Sequence[tuple[int, BatchHeader]],
        next_offset: int,
        pending_bytes: int,
    ) -> int:
        """Take batches into indexes and producer state; return the offset after them.

        ``pending_bytes`` are noted already and not yet in the file.
        """
        active = self.active
        start = active.size_bytes + pending_bytes
        for position, header in batches:
            assert header.base_offset >= next_offset, f"{header} below {next_offset}"
            active.note(header, start + position)
            if header.producer_id >= 0:
                ended = self.producers.note(header, buffer, position)
                if ended is not None and ended.is_aborted:
                    active.append_aborted(aborted_entry(ended))
            next_offset = header.next_offset
        last_position, last = batches[-1]
        assert last_position + last.size_bytes == len(buffer), "a buffer holds whole batches"
        return next_offset

    def roll(self, base_offset: int, config: LogConfig, now_ms: int) -> None:
        """Seal the active segment and begin one at ``base_offset``.

        An empty active one is replaced.
        """
        segment = Segment(self.directory, base_offset, config, created_ms=now_ms)
        if self.active.size_bytes == 0:
            self.active.delete()
            self.segments[-1] = segment
        else:
            self.active.seal()
            self._snapshots.take(base_offset, self.producers)
            self.segments.append(segment)

    def cut(self, offset: int) -> ProducerStates:
        """Drop every batch that reaches ``offset``, which is not below the first base offset.

        Return the producers as of there, with all that is known of them.
        """
        drop_from(self.segments, segment_number(self.segments, offset) + 1)
        self.active.truncate_to(offset)
        self._snapshots.remove_above(offset)
        producers = self._snapshots.load(self.segments, offset)
        self.producers = producers.for_snapshots()
        return producers

    def restart(self, offset: int, config: LogConfig, now_ms: int) -> None:
        """Drop everything and begin one empty segment at ``offset``."""
        created_ms = max(now_ms, self.active.created_ms)
        segment = Segment(self.directory, offset, config, created_ms=created_ms)
        dropped, self.segments = self.segments, [segment]
        for each in reversed(dropped):
            each.delete()
        self._snapshots.remove_above(-1)
        segment.file()
        self.producers = ProducerStates().for_snapshots()

    def remove_oldest(self, count: int) -> SetAside:
        """Take the first ``count`` segments out; at least one must stay."""
        assert 0 <= count < len(self.segments), f"{count} of {len(self.segments)} segments"
        removed = self.segments[:count]
        del self.segments[:count]
        if self.active.size_bytes == 0:
            # Its name is all that tells where the log goes on.
            self.active.file()
            self._sync_dir()
        self._snapshots.remove_below(self.segments[0].base_offset)
        return self._set_aside(removed)

    def replace(self, old: Sequence[Segment], cleaned: Sequence[Segment]) -> SetAside:
        """Put ``cleaned`` segments, sealed and with `.cleaned` names, in place of sealed ``old``.

        A crash in between leaves the old ones whole, or `.swap` files that the next start puts in
        place. Source: LocalLog.replaceSegments.
        """
        first = self.segments.index(old[0])
        assert self.segments[first : first + len(old)] == list(old), "not a run of this log"
        assert first + len(old) < len(self.segments), "the active segment is not cleaned"
        for segment in cleaned:
            assert segment.files.suffix == CLEANED_SUFFIX, segment.files.suffix
            segment.sync()
        for segment in reversed(cleaned):
            segment.files.change_suffix(SWAP_SUFFIX)
        self._sync_dir()
        self.segments[first : first + len(old)] = cleaned
        aside = self._set_aside(old)
        for segment in cleaned:
            segment.files.change_suffix("")
        self._sync_dir()
        gone = {segment.base_offset for segment in old} - {one.base_offset for one in cleaned}
        self._snapshots.remove_of(gone)
        return aside

    def complete(self, end: int) -> None:
        """Write index entries and a producer snapshot up to ``end``, as of a clean stop."""
        if self.active.size_bytes > 0:
            self.active.seal()
        if end > 0:
            self._snapshots.take(end, self.producers)

    def unload(self) -> None:
        """Forget what is held in memory of the files; the active segment's indexes stay."""
        for segment in self.segments:
            self.directory.files.unloaded(segment)
        for segment in self.segments[:-1]:
            segment.unload()

    def _set_aside(self, segments: Sequence[Segment]) -> SetAside:
        for segment in segments:
            self.directory.files.unloaded(segment)
            segment.files.change_suffix(DELETED_SUFFIX)
        return SetAside(segments)

    def _sync_dir(self) -> None:
        self.directory.files.disk.sync_dir(self.directory.name)
