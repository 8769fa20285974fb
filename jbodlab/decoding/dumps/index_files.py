"""Offset, time and transaction indexes, checked against their segment as DumpLogSegments does.

Where Kafka's tool ends with a stack trace, this notes a finding and goes on.

Source: DumpLogSegments.scala (dumpIndex, dumpTimeIndex, dumpTxnIndex), OffsetIndex.java,
TimeIndex.java (sanityCheck).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from broker.storage.indexes import (
    OFFSET_ENTRY_BYTES,
    TIME_ENTRY_BYTES,
    CorruptIndex,
    OffsetIndex,
    TimeIndex,
    unpack_aborted,
)
from broker.storage.layout import LOG_SUFFIX, OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX
from jbodlab.decoding.dumps.log_files import base_offset_of, map_file
from jbodlab.decoding.dumps.row import DumpOptions, Findings, Row, row_of
from protocol.errors import Malformed
from protocol.ids import NO_TIMESTAMP
from protocol.records.batch import BatchHeader
from protocol.records.entries import EntryHeader, iterate_entries, iterate_entry_views


def dump_offset_index(path: Path, options: DumpOptions, findings: Findings) -> Iterator[Row]:
    """Give the entries of an offset index; those that point elsewhere are findings."""
    data = path.read_bytes()
    index = OffsetIndex(base_offset_of(path), _whole(data, OFFSET_ENTRY_BYTES))
    if len(index) == 0:
        yield Row(f"{path} is empty.", {"isEmpty": True})
        return
    if options.checks_sanity_only:
        yield from _sanity_row(path, _offset_index_fault(path, index, len(data)), findings)
        return
    log = map_file(_beside(path, OFFSET_INDEX_SUFFIX, LOG_SUFFIX))
    for number in range(len(index)):
        offset, position = index.entry(number)
        if number > 0 and offset == index.base_offset:
            return  # The rest was preallocated and never written.
        found = _first_entry(log[position : position + options.message_bytes_max])
        if found != offset:
            text = f"  Index offset: {offset}, log offset: {found}"
            findings.note(f"Mismatches in :{path.absolute()}", text)
        if not options.verifies_only:
            yield row_of({"offset": offset, "position": position})


def dump_time_index(path: Path, options: DumpOptions, findings: Findings) -> Iterator[Row]:
    """Give the entries of a time index; those that the segment contradicts are findings."""
    data = path.read_bytes()
    index = TimeIndex(base_offset_of(path), _whole(data, TIME_ENTRY_BYTES))
    if options.checks_sanity_only:
        yield from _sanity_row(path, _time_index_fault(path, index, len(data)), findings)
        return
    segment = _Segment(path)
    before = NO_TIMESTAMP
    for number in range(len(index)):
        timestamp, offset = index.entry(number)
        if number > 0 and offset == index.base_offset:
            return
        _check_time(path, (timestamp, offset, before), segment, findings)
        if not options.verifies_only:
            yield row_of({"timestamp": timestamp, "offset": offset})
        before = timestamp


def dump_transaction_index(path: Path, findings: Findings) -> Iterator[Row]:
    """Give the aborted transactions."""
    try:
        for aborted in unpack_aborted(path.read_bytes()):
            yield row_of(
                {
                    "version": 0,
                    "producerId": aborted.producer_id,
                    "firstOffset": aborted.first_offset,
                    "lastOffset": aborted.last_offset,
                    "lastStableOffset": aborted.last_stable_offset,
                }
            )
    except CorruptIndex as error:
        findings.note(f"Broken in {path.absolute()}", f"  {error}")


class _Segment:
    """The batches beside an index, found through the offset index when there is one."""

    def __init__(self, path: Path) -> None:
        self._log = map_file(_beside(path, TIME_INDEX_SUFFIX, LOG_SUFFIX))
        offsets = _beside(path, TIME_INDEX_SUFFIX, OFFSET_INDEX_SUFFIX)
        data = offsets.read_bytes() if offsets.exists() else b""
        self._index = OffsetIndex(base_offset_of(path), _written(data))

    def find(self, offset: int) -> tuple[int, int] | None:
        """Return last offset and largest timestamp of the first batch that ends at or after it."""
        rest = self._log[self._index.position_before(offset) :]
        for position, header in iterate_entries(rest):
            if last_offset(header) >= offset:
                times = (view.timestamp_ms for view in iterate_entry_views(rest, position, header))
                return last_offset(header), max(times, default=NO_TIMESTAMP)
        return None


def last_offset(header: EntryHeader) -> int:
    """Return the last offset of a batch or message."""
    return header.last_offset if isinstance(header, BatchHeader) else header.offset


def _check_time(
    path: Path, entry: tuple[int, int, int], segment: _Segment, findings: Findings
) -> None:
    timestamp, offset, before = entry
    try:
        last, largest = segment.find(offset) or (-1, NO_TIMESTAMP)
    except Malformed as error:
        findings.note(f"Broken beside {path.absolute()}", f"  {error}")
        return
    if last != offset:
        text = f"Indexed offset: {offset}, found log offset: {last}"
        findings.note("The following indexed offsets are not found in the log.", text)
        return
    if largest != timestamp:
        text = f"  Index timestamp: {timestamp}, log timestamp: {largest}"
        findings.note(f"Found timestamp mismatch in :{path.absolute()}", text)
    if before >= timestamp:
        text = f"  Index timestamp: {timestamp}, Previously indexed timestamp: {before}"
        findings.note(f"Found out of order timestamp in :{path.absolute()}", text)


def _first_entry(data: memoryview) -> int | None:
    """Return the last offset of the batch at the start of ``data``, None when there is none."""
    try:
        return next((last_offset(header) for _, header in iterate_entries(data)), None)
    except Malformed:
        return None


def _sanity_row(path: Path, fault: str | None, findings: Findings) -> Iterator[Row]:
    if fault is None:
        yield Row(f"{path} passed sanity check.", {"isSane": True})
    else:
        findings.note(f"Corrupt index: {path.absolute()}", f"  {fault}")
        yield Row(f"{path} failed sanity check.", {"isSane": False})


def _offset_index_fault(path: Path, index: OffsetIndex, size_bytes: int) -> str | None:
    last = index.last
    assert last is not None, path
    if last.offset < index.base_offset:
        return f"the last offset is {last.offset}, less than the base offset {index.base_offset}"
    if size_bytes % OFFSET_ENTRY_BYTES:
        return f"{size_bytes} bytes are no multiple of {OFFSET_ENTRY_BYTES}"
    return None


def _time_index_fault(path: Path, index: TimeIndex, size_bytes: int) -> str | None:
    if len(index) == 0:
        return None
    first, last = index.entry(0), index.last
    if last.timestamp < first.timestamp:
        return f"the last timestamp is {last.timestamp}, less than the first {first.timestamp}"
    if last.offset < index.base_offset:
        return f"the last offset is {last.offset}, less than the base offset {index.base_offset}"
    if size_bytes % TIME_ENTRY_BYTES:
        return f"{size_bytes} bytes are no multiple of {TIME_ENTRY_BYTES}"
    return None


def _beside(path: Path, suffix: str, other: str) -> Path:
    """Return another file of the same segment, set aside in the same way."""
    return path.with_name(path.name.replace(suffix, other))


def _whole(data: bytes, entry_bytes: int) -> bytes:
    return data[: len(data) // entry_bytes * entry_bytes]


def _written(data: bytes) -> bytes:
    """Return an offset index without the zeros that it was preallocated with."""
    entries = [data[at : at + 8] for at in range(0, len(data) - 7, OFFSET_ENTRY_BYTES)]
    return b"".join([*entries[:1], *takewhile(any, entries[1:])])
