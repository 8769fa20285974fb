"""The producer snapshots of one log: which there are; taking, removing and loading them.

Formats are elsewhere. A lost or damaged snapshot costs reading the log again, never data, so they
are written without a sync.

Source: ProducerStateManager.java; UnifiedLog.rebuildProducerState.
"""

from __future__ import annotations

import logging
from bisect import bisect_right, insort
from collections.abc import Collection, Iterable, Sequence

from broker.core.producers import ProducerStates
from broker.storage.batch_scan import scan_headers
from broker.storage.earlier_batches import recall_batches
from broker.storage.indexes import AbortedTransaction, aborted_entry
from broker.storage.layout import SNAPSHOT_SUFFIX
from broker.storage.producer_snapshot import (
    CorruptSnapshot,
    pack_snapshot,
    unpack_snapshot,
)
from broker.storage.segment import Segment
from broker.storage.segment_files import PartitionFiles

_LOGGER = logging.getLogger(__name__)


class Snapshots:
    """The snapshot files of one log, by the offset that they stand before."""

    __slots__ = ("_directory", "_offsets")

    def __init__(self, directory: PartitionFiles, offsets: Iterable[int] = ()) -> None:
        self._directory = directory
        self._offsets = sorted(offsets)

    @property
    def offsets(self) -> list[int]:
        """Ascending."""
        return list(self._offsets)

    def take(self, offset: int, producers: ProducerStates) -> None:
        """Write the state of all batches before ``offset``, unless that is there."""
        if offset in self._offsets:
            return
        data = pack_snapshot(producers.snapshot_entries())
        self._directory.files.replace(self._name(offset), data)
        insort(self._offsets, offset)

    def remove_above(self, offset: int) -> None:
        """Remove those that know of batches at or after ``offset``."""
        self._remove([known for known in self._offsets if known > offset])

    def remove_below(self, offset: int) -> None:
        """Remove those of segments that begin before ``offset``."""
        self._remove([known for known in self._offsets if known < offset])

    def remove_of(self, base_offsets: Collection[int]) -> None:
        """Remove those that stand before the segments with these base offsets."""
        self._remove([known for known in self._offsets if known in base_offsets])

    def keep_of_segments(self, base_offsets: Sequence[int]) -> None:
        """Remove those of no segment, but for the newest when it is newer than all segments."""
        newest = self._offsets[-1] if self._offsets else -1
        keep = {*base_offsets, newest if newest > base_offsets[-1] else -1}
        self._remove([known for known in self._offsets if known not in keep])

    def load(self, segments: Sequence[Segment], end: int) -> ProducerStates:
        """Return the state at ``end``, with the last batches of each producer.

        The newest good snapshot, the batches that it leaves out, and those written after it.
        """
        start, producers = self._newest(end)
        recall_batches(segments, start, producers)
        for number, segment in enumerate(segments):
            is_last = number + 1 == len(segments)
            if is_last or segments[number + 1].base_offset > start:
                _replay(segment, start, producers)
        return producers

    def _newest(self, end: int) -> tuple[int, ProducerStates]:
        for offset in reversed(self._offsets[: bisect_right(self._offsets, end)]):
            data = self._directory.files.disk.read_file(self._name(offset))
            try:
                return offset, ProducerStates(unpack_snapshot(data))
            except CorruptSnapshot as exc:
                _LOGGER.warning("%s is damaged (%s): removed", self._name(offset), exc)
                self._remove([offset])
        return 0, ProducerStates()

    def _remove(self, offsets: Iterable[int]) -> None:
        for offset in offsets:
            self._directory.files.forget(self._name(offset))
            self._directory.files.disk.remove(self._name(offset))
            self._offsets.remove(offset)

    def _name(self, offset: int) -> str:
        return self._directory.of_segment(offset, SNAPSHOT_SUFFIX)


def aborted_in(segment: Segment, producers: ProducerStates) -> list[AbortedTransaction]:
    """Return the transactions that were aborted in ``segment``.

    ``producers`` are those at its start; they are brought to its end.
    """
    return _replay(segment, segment.base_offset, producers)


def _replay(segment: Segment, start: int, producers: ProducerStates) -> list[AbortedTransaction]:
    aborted: list[AbortedTransaction] = []
    if segment.size_bytes == 0:
        return aborted
    file = segment.file()
    position = segment.position_of(start) if start > segment.base_offset else 0
    for at, header in scan_headers(file, position, segment.size_bytes):
        if header.has_producer_id:
            batch = file.read(at, header.size_bytes) if header.is_control else b""
            ended = producers.note(header, batch, 0)
            if ended is not None and ended.is_aborted:
                aborted.append(aborted_entry(ended))
    return aborted
