"""One segment of a log: its `.log` file and its indexes.

It does not know its neighbours, nor when to roll. Indexes of the active segment live in memory and
reach their files on seal, flush and close; those of sealed segments are read when first needed.
Files are never preallocated: Kafka opens them as well.

Source: LogSegment.java.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol
from zlib import crc32

from broker.storage.batch_scan import MisplacedBatch, cut_position, scan_batches, scan_headers
from broker.storage.index_check import check_last_entry
from broker.storage.indexes import (
    NO_TIME_ENTRY,
    OFFSET_ENTRY_BYTES,
    TIME_ENTRY_BYTES,
    AbortedTransaction,
    CorruptIndex,
    OffsetIndex,
    OffsetPosition,
    TimeIndex,
    TimestampOffset,
    pack_aborted,
    unpack_aborted,
)
from broker.storage.layout import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
)
from broker.storage.segment_files import INDEX_SUFFIXES, PartitionFiles, SegmentFiles
from protocol.ports import Buffer, DiskFile
from protocol.records.batch import BatchHeader

_LOCATE_CHUNK_BYTES: Final = 8 << 10
RELATIVE_OFFSET_MAX: Final = 2**31 - 1


class LogConfig(Protocol):
    """The topic configs that the files of a log depend on."""

    @property
    def segment_bytes(self) -> int:
        """`segment.bytes`."""
        ...

    @property
    def segment_ms(self) -> int:
        """`segment.ms`."""
        ...

    @property
    def max_segment_ms(self) -> int:
        """`segment.ms`, or the smaller `max.compaction.lag.ms` of a compacted topic."""
        ...

    @property
    def segment_index_bytes(self) -> int:
        """`segment.index.bytes`."""
        ...

    @property
    def index_interval_bytes(self) -> int:
        """`index.interval.bytes`."""
        ...

    @property
    def segment_jitter_ms(self) -> int:
        """`segment.jitter.ms`."""
        ...

    @property
    def flush_messages(self) -> int:
        """`flush.messages`."""
        ...

    @property
    def flush_ms(self) -> int:
        """`flush.ms`."""
        ...


def _accept(_header: BatchHeader, _batch: memoryview) -> str | None:
    return None


class Segment:
    """Batches from ``base_offset`` on.

    ``size_bytes`` is what was written, never more than the file holds.
    """

    __slots__ = (
        "_first_timestamp",
        "_index_bytes_max",
        "_indexes_loaded",
        "_indexes_written",
        "_interval_bytes",
        "_offset_index",
        "_time_index",
        "_unindexed_bytes",
        "base_offset",
        "created_ms",
        "directory",
        "files",
        "has_unsynced_indexes",
        "largest_timestamp",
        "roll_jitter_ms",
        "size_bytes",
    )

    def __init__(
        self,
        directory: PartitionFiles,
        base_offset: int,
        config: LogConfig,
        *,
        created_ms: int,
        suffix: str = "",
    ) -> None:
        """Begin an empty segment; its file appears when ``file`` is first called."""
        self.directory = directory
        self.files = SegmentFiles(directory, base_offset, suffix)
        self.base_offset = base_offset
        self.size_bytes = 0
        self.created_ms = created_ms
        self.largest_timestamp = NO_TIME_ENTRY
        """Of the active segment; a sealed one has it as the last entry of its time index."""
        self.roll_jitter_ms = _jitter_ms(self.files, config) if config.segment_jitter_ms else 0
        """How much earlier than `segment.ms` it rolls."""
        self.has_unsynced_indexes = False
        """Whether index entries were written after the last sync: those of the seal come late."""
        self._first_timestamp: int | None = None
        self._interval_bytes = config.index_interval_bytes
        self._index_bytes_max = config.segment_index_bytes
        self._unindexed_bytes = 0
        self._offset_index = OffsetIndex(base_offset)
        self._time_index = TimeIndex(base_offset)
        self._indexes_loaded = True
        self._indexes_written = (0, 0)

    @property
    def offset_index(self) -> OffsetIndex:
        """The offset index, read or rebuilt when it is not in memory."""
        self._load_indexes()
        return self._offset_index

    @property
    def time_index(self) -> TimeIndex:
        """The time index, read or rebuilt when it is not in memory."""
        self._load_indexes()
        return self._time_index

    def file(self) -> DiskFile:
        """Return the open `.log` file, made when it is missing."""
        return self.files.log()

    def note(self, header: BatchHeader, position: int) -> None:
        """Take a batch that is written (or about to be) at ``position`` into the indexes."""
        if header.max_timestamp > self.largest_timestamp.timestamp:
            self.largest_timestamp = TimestampOffset(header.max_timestamp, header.last_offset)
        if self._unindexed_bytes > self._interval_bytes and not self.index_is_full():
            self._offset_index.append(header.last_offset, position)
            self._time_index.maybe_append(self.largest_timestamp)
            self._unindexed_bytes = 0
        self._unindexed_bytes += header.size_bytes
        if position == 0:
            self._first_timestamp = header.max_timestamp

    def index_is_full(self) -> bool:
        """Tell whether `segment.index.bytes` leaves no room.

        One time entry is kept for the seal.
        """
        offset_bytes = len(self._offset_index.entries) + OFFSET_ENTRY_BYTES
        time_bytes = len(self._time_index.entries) + 2 * TIME_ENTRY_BYTES
        return max(offset_bytes, time_bytes) > self._index_bytes_max

    def first_timestamp(self) -> int | None:
        """Return the max timestamp of the first batch, None while empty."""
        if self._first_timestamp is None and self.size_bytes > 0:
            _, header = next(scan_headers(self.file(), 0, self.size_bytes, chunk_bytes=61))
            self._first_timestamp = header.max_timestamp
        return self._first_timestamp

    def newest_ms(self) -> int:
        """Return the largest timestamp; without any, when the file was last written."""
        newest = max(self.time_index.last.timestamp, self.largest_timestamp.timestamp)
        if newest >= 0:
            return newest
        return self.directory.files.disk.modified_ms(self.files.name(LOG_SUFFIX))

    def append(self, buffers: Sequence[Buffer]) -> None:
        """Write batches that were noted."""
        self.size_bytes = self.file().append(buffers)

    def append_aborted(self, transaction: AbortedTransaction) -> None:
        """Add an entry to the transaction index, which exists only where there is one."""
        self.files.append(TRANSACTION_INDEX_SUFFIX, pack_aborted(transaction))

    def aborted_transactions(self) -> list[AbortedTransaction]:
        """Return the entries of the transaction index."""
        if not self.files.exists(TRANSACTION_INDEX_SUFFIX):
            return []
        return list(unpack_aborted(self.files.read(TRANSACTION_INDEX_SUFFIX)))

    def locate(self, offset: int) -> tuple[int, BatchHeader] | None:
        """Return position and header of the first batch that ends at or after ``offset``."""
        start = self.offset_index.position_before(offset)
        if start >= self.size_bytes:
            return None
        headers = scan_headers(self.file(), start, self.size_bytes, chunk_bytes=_LOCATE_CHUNK_BYTES)
        for position, header in headers:
            if header.last_offset >= offset:
                return position, header
        return None

    def position_of(self, offset: int) -> int:
        """Return where the batch of ``offset`` begins; the size when all batches end before it."""
        found = self.locate(offset)
        return self.size_bytes if found is None else found[0]

    def truncate_to(self, offset: int) -> None:
        """Drop every batch that ends at or after ``offset``, and damage that begins there."""
        start = self.offset_index.position_before(offset - 1)
        begin = None if start else self.base_offset
        position = cut_position(self.file(), start, offset, begin=begin, end=self.size_bytes)
        self._load_indexes()
        self._offset_index.truncate_to(offset)
        self._time_index.truncate_to(offset)
        self.cut_file(position)
        self._write_indexes_anew()
        self._truncate_transactions(offset)
        self.restore_tail(below=offset)

    def cut_file(self, size_bytes: int) -> None:
        """Cut the `.log` file, whatever the indexes say."""
        file = self.file()
        if size_bytes < file.size():
            file.truncate(size_bytes)
        self.size_bytes = size_bytes

    def rebuild(
        self,
        end: int,
        *,
        verify: bool,
        check: Callable[[BatchHeader, memoryview], str | None] = _accept,
        is_active: bool = False,
    ) -> int:
        """Build offset and time index anew from the batches up to ``end``.

        Return the offset after the last one. ``check`` sees each batch in order and may say why it
        does not belong here. An active segment gets index files that it lacks when it is flushed.

        Raises:
            CorruptBatch: the indexes hold the batches before it then.
            MisplacedBatch: the same, for one that does not belong here.
        """
        self._reset_indexes()
        next_offset = self.base_offset
        try:
            file = self.file()
            batches = scan_batches(file, 0, end, verify=verify, ends_log=is_active) if end else ()
            for position, header, batch in batches:
                if header.base_offset < next_offset or not self.can_hold(header.last_offset):
                    reason = f"offset {header.base_offset}, expected {next_offset} or above"
                    raise MisplacedBatch(position, reason)
                reason = check(header, batch)
                if reason is not None:
                    raise MisplacedBatch(position, reason)
                self.note(header, position)
                next_offset = header.next_offset
        finally:
            self._time_index.maybe_append(self.largest_timestamp)
            self._write_indexes_anew(is_active=is_active)
        return next_offset

    def can_hold(self, offset: int) -> bool:
        """Tell whether ``offset`` can be written relative to the base offset (signed int32)."""
        return 0 <= offset - self.base_offset <= RELATIVE_OFFSET_MAX

    def open_existing(self, size_bytes: int) -> None:
        """Take over a file of ``size_bytes`` that is trusted; indexes load later."""
        self.size_bytes = size_bytes
        self._indexes_loaded = False

    def restore_tail(self, *, below: int | None = None) -> int:
        """Read what follows the last index entry, so that appends go on; return the next offset.

        No sum guards base offsets: the largest timestamp is of no batch that cannot end there.
        """
        self._load_indexes()
        ends = range(self.base_offset, below or self.base_offset + RELATIVE_OFFSET_MAX + 1)
        last = self._offset_index.last or OffsetPosition(self.base_offset - 1, 0)
        self.largest_timestamp, self._unindexed_bytes = self._time_index.last, 0
        next_offset = self.base_offset
        if self.size_bytes == 0:
            return next_offset
        for _, header in scan_headers(self.file(), last.position, self.size_bytes):
            next_offset = header.next_offset
            self._unindexed_bytes += header.size_bytes
            is_newer = header.max_timestamp > self.largest_timestamp.timestamp
            if is_newer and header.last_offset in ends:
                self.largest_timestamp = TimestampOffset(header.max_timestamp, header.last_offset)
        return next_offset

    def seal(self) -> None:
        """Finish the indexes of a segment that gets no more batches."""
        self._time_index.maybe_append(self.largest_timestamp)
        self.write_indexes()
        self.directory.files.loaded(self, self._loaded_bytes())

    def write_indexes(self) -> None:
        """Bring the index files up to date (not durable)."""
        if not self._indexes_loaded:
            return
        written = self._indexes_written
        parts = (self._offset_index.entries, self._time_index.entries)
        for suffix, entries, done in zip(INDEX_SUFFIXES, parts, written, strict=True):
            if len(entries) > done or done == 0:
                self.files.append(suffix, bytes(entries[done:]))
                self.has_unsynced_indexes = True
        self._indexes_written = (len(parts[0]), len(parts[1]))

    def sync(self) -> None:
        """Make batches and indexes durable."""
        self.file().sync()
        self.write_indexes()
        self.files.sync_indexes()
        self.has_unsynced_indexes = False

    def delete(self) -> None:
        """Remove all files of the segment."""
        self.directory.files.unloaded(self)
        self.files.delete()

    def unload(self) -> None:
        """Drop the indexes of a sealed segment from memory."""
        self._offset_index = OffsetIndex(self.base_offset)
        self._time_index = TimeIndex(self.base_offset)
        self._indexes_loaded = False

    def _load_indexes(self) -> None:
        if self._indexes_loaded:
            return
        base, files = self.base_offset, self.files
        try:
            self._offset_index = OffsetIndex.parse(base, files.read(OFFSET_INDEX_SUFFIX))
            self._time_index = TimeIndex.parse(base, files.read(TIME_INDEX_SUFFIX))
            check_last_entry(self._offset_index, self.file(), self.size_bytes)
        except (FileNotFoundError, CorruptIndex):
            self.rebuild(self.size_bytes, verify=False)
        self._indexes_loaded = True
        self._indexes_written = (len(self._offset_index.entries), len(self._time_index.entries))
        self.directory.files.loaded(self, self._loaded_bytes())

    def _reset_indexes(self) -> None:
        self.unload()
        self._indexes_loaded = True
        self.largest_timestamp, self._unindexed_bytes = NO_TIME_ENTRY, 0
        self._first_timestamp = None

    def _write_indexes_anew(self, *, is_active: bool = False) -> None:
        parts = (self._offset_index.entries, self._time_index.entries)
        offsets_bytes, times_bytes = (
            len(entries) if self.files.bring_to(suffix, entries, makes=not is_active) else 0
            for suffix, entries in zip(INDEX_SUFFIXES, parts, strict=True)
        )
        self._indexes_written = (offsets_bytes, times_bytes)

    def replace_transactions(self, aborted: Sequence[AbortedTransaction]) -> None:
        """Bring the transaction index to these, durably: below the recovery point none is read."""
        data = b"".join(map(pack_aborted, aborted))
        self.files.bring_to(TRANSACTION_INDEX_SUFFIX, data, makes=True, is_durable=True)

    def _truncate_transactions(self, offset: int) -> None:
        aborted = self.aborted_transactions()
        kept = [transaction for transaction in aborted if transaction.last_offset < offset]
        if len(kept) < len(aborted):
            self.replace_transactions(kept)

    def _loaded_bytes(self) -> int:
        return len(self._offset_index.entries) + len(self._time_index.entries)


def _jitter_ms(files: SegmentFiles, config: LogConfig) -> int:
    """Draw from the segment's name on its disk: spread over logs, the same after a restart."""
    name = f"{files.directory.files.disk.root}/{files.name(LOG_SUFFIX)}"
    return crc32(name.encode()) % min(config.segment_jitter_ms, config.segment_ms)
