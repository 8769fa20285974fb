"""Reading a log across its segments: by offset and by timestamp. It changes nothing.

Source: LocalLog.read, LogSegment.read, UnifiedLog.fetchOffsetByTimestamp.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from broker.storage.batch_scan import CorruptBatch, read_exactly, scan_headers
from broker.storage.indexes import AbortedTransaction
from broker.storage.segment import Segment
from protocol.errors import Malformed
from protocol.ports import Buffer
from protocol.records.batch import BatchHeader
from protocol.records.entries import iterate_stored_batches, iterate_stored_records


class LogRead(NamedTuple):
    """Whole batches in order, without a gap, from the one that holds the asked offset on."""

    buffers: tuple[Buffer, ...]
    size_bytes: int
    next_offset: int
    """Where to read on: behind the last batch given and behind a gap; else the asked offset."""
    aborted: Sequence[AbortedTransaction] = ()
    """Aborted transactions that touch the batches, when they were asked for."""


class FoundOffset(NamedTuple):
    """A record found by its timestamp."""

    timestamp: int
    offset: int
    leader_epoch: int


def read_batches(
    segments: Sequence[Segment],
    offset: int,
    end: int,
    max_bytes: int,
    *,
    log_end_offset: int,
    min_one: bool,
) -> LogRead:
    """Read batches that hold ``offset`` or follow it and end before ``end``, up to ``max_bytes``.

    A segment is left for the next one only when it was read to its end. With ``min_one`` the first
    batch comes whole even when it is larger than ``max_bytes``.

    Raises:
        CorruptBatch: what stands in a file is no batch, be it behind others that are whole.
        OSError: a file is shorter than what was written.
    """
    buffers: list[Buffer] = []
    left_bytes, next_offset = max_bytes, offset
    for number in range(segment_number(segments, offset), len(segments)):
        segment = segments[number]
        segment_end, limit = bounds(segments, number, end, log_end_offset)
        found = segment.locate(next_offset)
        if found is None:
            next_offset = max(next_offset, min(segment_end, end))
            continue
        position, header = found
        if position >= limit:
            break
        budget_bytes = left_bytes
        if header.size_bytes > left_bytes:
            if buffers or not min_one:
                break
            budget_bytes = header.size_bytes
        data = read_exactly(segment.file(), position, min(budget_bytes, limit - position))
        if position + len(data) < limit:
            data, next_offset = _whole_batches(segment, position, data)
            return _result([*buffers, data], next_offset)
        buffers.append(data)
        left_bytes -= len(data)
        next_offset = min(segment_end, end)
        if limit < segment.size_bytes or left_bytes <= 0:
            break
    return _result(buffers, next_offset)


def segment_number(segments: Sequence[Segment], offset: int) -> int:
    """Return the number of the segment that ``offset`` belongs to, 0 for smaller offsets."""
    return max(0, bisect_right(segments, offset, key=lambda segment: segment.base_offset) - 1)


def bounds(
    segments: Sequence[Segment], number: int, end: int, log_end_offset: int
) -> tuple[int, int]:
    """Return the offset where segment ``number`` ends, and the position of what is before ``end``.

    Raises:
        CorruptBatch: what stands in its file is no batch.
    """
    segment, is_last = segments[number], number + 1 == len(segments)
    segment_end = log_end_offset if is_last else segments[number + 1].base_offset
    limit = segment.size_bytes if segment_end <= end else segment.position_of(end)
    return segment_end, limit


def find_timestamp(
    segments: Sequence[Segment], timestamp: int, log_start_offset: int
) -> FoundOffset | None:
    """Return the first record from ``log_start_offset`` on that has ``timestamp`` or a later one.

    Raises:
        CorruptBatch: what stands in a file is no batch.
        Malformed: records of a batch cannot be read.
    """
    for segment in segments:
        if largest_timestamp(segment) < timestamp:
            continue
        position = segment.position_of(segment.time_index.offset_before(timestamp))
        for at, header in scan_headers(segment.file(), position, segment.size_bytes):
            if header.max_timestamp >= timestamp and header.last_offset >= log_start_offset:
                found = _find_in_batch(segment, at, header, timestamp, log_start_offset)
                if found is not None:
                    return found
    return None


def find_aborted(segments: Sequence[Segment], start: int, end: int) -> list[AbortedTransaction]:
    """Return the aborted transactions that touch offsets from ``start`` up to ``end``.

    Their markers may be far behind ``end``; what was aborted after everything before ``end`` was
    stable began later. Source: LocalLog.collectAbortedTransactions.
    """
    found: list[AbortedTransaction] = []
    for segment in segments[segment_number(segments, start) :]:
        for transaction in segment.aborted_transactions():
            if transaction.last_offset >= start and transaction.first_offset < end:
                found.append(transaction)
            if transaction.last_stable_offset >= end:
                return found
    return found


def largest_timestamp(segment: Segment) -> int:
    """Return the largest timestamp of a segment, sealed or active; -1 when it has none."""
    return max(segment.time_index.last.timestamp, segment.largest_timestamp.timestamp)


def last_whole(data: bytes, start: int) -> tuple[int, int] | None:
    """Return end and next offset of the last whole batch from ``start``, a batch's start, on.

    Raises:
        Malformed: what stands there is no batch.
    """
    end = None
    for position, header in iterate_stored_batches(data, start):
        end = (position + header.size_bytes, header.next_offset)
    return end


def _find_in_batch(
    segment: Segment, position: int, header: BatchHeader, timestamp: int, log_start_offset: int
) -> FoundOffset | None:
    data = read_exactly(segment.file(), position, header.size_bytes)
    for record in iterate_stored_records(data, 0, header):
        if record.timestamp_ms >= timestamp and record.offset >= log_start_offset:
            epoch = header.partition_leader_epoch
            return FoundOffset(record.timestamp_ms, record.offset, epoch)
    return None


def _result(buffers: Sequence[Buffer], next_offset: int) -> LogRead:
    return LogRead(tuple(buffers), sum(map(len, buffers)), next_offset)


def _whole_batches(segment: Segment, position: int, data: bytes) -> tuple[memoryview, int]:
    """Cut a tail that is no whole batch; the first batch in ``data`` was read whole.

    Raises:
        CorruptBatch: damage lies behind it; or the disk gives other bytes now than a moment ago.
    """
    boundary = segment.offset_index.boundary_before(position + len(data) - 1)
    try:
        cut = last_whole(data, max(0, boundary - position)) or last_whole(data, 0)
    except Malformed as exc:
        raise CorruptBatch(position, f"no batches in {len(data)} bytes: {exc}") from exc
    if cut is None:
        raise CorruptBatch(position, f"no whole batch in {len(data)} bytes")
    return memoryview(data)[: cut[0]], cut[1]
