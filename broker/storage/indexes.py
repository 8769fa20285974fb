"""The offset, time and transaction index of one segment as bytes in Kafka's format. They do no IO.

The offset and time index have an entry for every ``index.interval.bytes`` of the segment only.

Source: OffsetIndex.java, TimeIndex.java, TransactionIndex.java.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from broker.core.transactions import EndedTransaction

_OFFSET_ENTRY: Final = Struct(">ii")
_TIME_ENTRY: Final = Struct(">qi")
OFFSET_ENTRY_BYTES: Final = _OFFSET_ENTRY.size
TIME_ENTRY_BYTES: Final = _TIME_ENTRY.size
_TRANSACTION_ENTRY: Final = Struct(">hqqqq")


class CorruptIndex(ValueError):  # noqa: N818 -- says what it met
    """An index file that contradicts itself; it is rebuilt from its segment."""


class OffsetPosition(NamedTuple):
    """Where a batch begins; ``offset`` is its last one."""

    offset: int
    position: int


class TimestampOffset(NamedTuple):
    """The largest timestamp so far and the last offset of the batch that has it."""

    timestamp: int
    offset: int


NO_TIME_ENTRY: Final = TimestampOffset(-1, -1)


class AbortedTransaction(NamedTuple):
    """One entry of a transaction index; ``last_offset`` is that of the abort marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class OffsetIndex:
    """From offsets to file positions: entries of int32 relative offset, int32 position."""

    __slots__ = ("base_offset", "entries")

    def __init__(self, base_offset: int, entries: bytes | bytearray = b"") -> None:
        self.base_offset = base_offset
        self.entries = bytearray(entries)
        """The file's bytes."""

    @classmethod
    def parse(cls, base_offset: int, data: bytes) -> OffsetIndex:
        """Read a file's content.

        Raises:
            CorruptIndex: no whole entries, or they do not ascend (a preallocated file that was
                never trimmed).
        """
        _require_whole_entries(data, _OFFSET_ENTRY)
        index = cls(base_offset, data)
        last = index.last
        if last is not None and last.offset < base_offset:
            raise CorruptIndex(f"last entry {last} is below the base offset {base_offset}")
        if last is not None and len(index) > 1 and last <= index.entry(len(index) - 2):
            raise CorruptIndex(f"last entry {last} does not ascend")
        return index

    def __len__(self) -> int:
        return len(self.entries) // _OFFSET_ENTRY.size

    @property
    def last(self) -> OffsetPosition | None:
        """The entry with the largest offset."""
        return self.entry(len(self) - 1) if self.entries else None

    def entry(self, number: int) -> OffsetPosition:
        """Return the entry ``number``, from 0."""
        relative, position = _OFFSET_ENTRY.unpack_from(self.entries, number * _OFFSET_ENTRY.size)
        return OffsetPosition(self.base_offset + relative, position)

    def append(self, offset: int, position: int) -> None:
        """Add the batch that ends with ``offset``; both must be larger than the last entry's."""
        self.entries += _OFFSET_ENTRY.pack(offset - self.base_offset, position)

    def position_before(self, offset: int) -> int:
        """Return where to begin looking for ``offset``.

        The last indexed batch that does not end after it.
        """
        number = bisect_right(range(len(self)), offset, key=lambda n: self.entry(n).offset) - 1
        return self.entry(number).position if number >= 0 else 0

    def boundary_after(self, position: int) -> int | None:
        """Return the smallest indexed batch start that is not before ``position``, 0 included."""
        if position <= 0:
            return 0
        number = bisect_left(range(len(self)), position, key=lambda n: self.entry(n).position)
        return self.entry(number).position if number < len(self) else None

    def count_before(self, offset: int) -> int:
        """Return how many entries are of batches that end before ``offset``."""
        return bisect_left(range(len(self)), offset, key=lambda n: self.entry(n).offset)

    def boundary_before(self, position: int) -> int:
        """Return the largest indexed batch start that is not behind ``position``."""
        number = bisect_right(range(len(self)), position, key=lambda n: self.entry(n).position) - 1
        return self.entry(number).position if number >= 0 else 0

    def truncate_to(self, offset: int) -> None:
        """Drop the entries of ``offset`` and above."""
        del self.entries[self.count_before(offset) * _OFFSET_ENTRY.size :]


class TimeIndex:
    """From timestamps to offsets.

    Entries of int64 largest timestamp so far, int32 relative offset.
    """

    __slots__ = ("base_offset", "entries")

    def __init__(self, base_offset: int, entries: bytes | bytearray = b"") -> None:
        self.base_offset = base_offset
        self.entries = bytearray(entries)
        """The file's bytes."""

    @classmethod
    def parse(cls, base_offset: int, data: bytes) -> TimeIndex:
        """Read a file's content.

        Raises:
            CorruptIndex: no whole entries, or they do not ascend.
        """
        _require_whole_entries(data, _TIME_ENTRY)
        index = cls(base_offset, data)
        if data and index.last.offset < base_offset:
            raise CorruptIndex(f"last entry {index.last} is below the base offset {base_offset}")
        if len(index) > 1 and index.last <= index.entry(len(index) - 2):
            raise CorruptIndex(f"last entry {index.last} does not ascend")
        return index

    def __len__(self) -> int:
        return len(self.entries) // _TIME_ENTRY.size

    @property
    def last(self) -> TimestampOffset:
        """The entry with the largest timestamp; (-1, -1) without one."""
        return self.entry(len(self) - 1) if self.entries else NO_TIME_ENTRY

    def entry(self, number: int) -> TimestampOffset:
        """Return the entry ``number``, from 0."""
        timestamp, relative = _TIME_ENTRY.unpack_from(self.entries, number * _TIME_ENTRY.size)
        return TimestampOffset(timestamp, self.base_offset + relative)

    def maybe_append(self, largest: TimestampOffset) -> None:
        """Add an entry when its timestamp is larger than the last one's.

        Else it would say nothing new.
        """
        if largest.timestamp > self.last.timestamp:
            self.entries += _TIME_ENTRY.pack(largest.timestamp, largest.offset - self.base_offset)

    def offset_before(self, timestamp: int) -> int:
        """Return where to begin looking for ``timestamp``.

        No batch before that offset has it or a later one.
        """
        number = bisect_left(range(len(self)), timestamp, key=lambda n: self.entry(n).timestamp)
        return self.entry(number - 1).offset if number > 0 else self.base_offset

    def truncate_to(self, offset: int) -> None:
        """Drop the entries of ``offset`` and above."""
        number = bisect_left(range(len(self)), offset, key=lambda n: self.entry(n).offset)
        del self.entries[number * _TIME_ENTRY.size :]


def aborted_entry(ended: EndedTransaction) -> AbortedTransaction:
    """Return the entry for a transaction that was aborted."""
    assert ended.is_aborted, f"{ended} was committed"
    return AbortedTransaction(
        ended.producer_id, ended.first_offset, ended.last_offset, ended.last_stable_offset
    )


def pack_aborted(transaction: AbortedTransaction) -> bytes:
    """Return one 34-byte entry of a transaction index."""
    return _TRANSACTION_ENTRY.pack(0, *transaction)


def unpack_aborted(data: bytes) -> Iterator[AbortedTransaction]:
    """Give the entries of a transaction index; a torn last one is left out.

    Raises:
        CorruptIndex: an entry of an unknown version.
    """
    whole_bytes = len(data) // _TRANSACTION_ENTRY.size * _TRANSACTION_ENTRY.size
    for version, *fields in _TRANSACTION_ENTRY.iter_unpack(data[:whole_bytes]):
        if version != 0:
            raise CorruptIndex(f"transaction index version {version}, known is 0")
        yield AbortedTransaction(*fields)


def check_aborted(base_offset: int, data: bytes) -> None:
    """Check a transaction index as a start does. Source: TransactionIndex.sanityCheck.

    Raises:
        CorruptIndex: half an entry, one of an unknown version or from before the segment.
    """
    _require_whole_entries(data, _TRANSACTION_ENTRY)
    for transaction in unpack_aborted(data):
        if transaction.last_offset < base_offset:
            raise CorruptIndex(f"{transaction} is below the base offset {base_offset}")


def _require_whole_entries(data: bytes, entry: Struct) -> None:
    if len(data) % entry.size:
        raise CorruptIndex(f"{len(data)} bytes are no whole entries of {entry.size}")
