"""What is promised of reads of a log: whole batches in order, aborted transactions, times.

Source: LocalLog.read, collectAbortedTransactions; UnifiedLog.fetchOffsetByTimestamp; KIP-98.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

from broker.core.producers import ProducerStates
from broker.storage.indexes import AbortedTransaction, CorruptIndex, TimestampOffset, unpack_aborted
from broker.storage.layout import LOG_SUFFIX, TRANSACTION_INDEX_SUFFIX
from broker.storage.log_reader import FoundOffset, LogRead
from broker.storage.log_segments import LogSegments
from broker.storage.partition_log import PartitionLog
from broker.storage.segment import Segment
from protocol.errors import KafkaError, Malformed
from protocol.ids import NO_TIMESTAMP
from protocol.ports import Buffer
from protocol.records.batch import BatchHeader
from protocol.records.entries import iterate_stored_batches, iterate_stored_records
from simulation.contracts.contract import Broken, of_method
from simulation.contracts.storage.disks import content, durable, is_spoilt, tree_of


def aborted_on_disk(segments: Sequence[Segment]) -> list[AbortedTransaction] | None:
    """Return what the transaction indexes of a log say; None where nobody can tell."""
    tree = tree_of(segments[0].directory.files.disk)
    if tree is None:
        return None
    found: list[AbortedTransaction] = []
    for segment in segments:
        data = content(tree, segment.files.name(TRANSACTION_INDEX_SUFFIX)) or b""
        try:
            found += unpack_aborted(data)
        except CorruptIndex:
            return None
    return found


def headers_of(buffers: Sequence[Buffer]) -> list[BatchHeader]:
    """Return the headers of batches; of what comes behind damage nothing."""
    headers: list[BatchHeader] = []
    for buffer in buffers:
        try:
            headers += [header for _, header in iterate_stored_batches(buffer)]
        except Malformed:
            break
    return headers


@of_method(PartitionLog, "read")
def read(
    log: PartitionLog,
    offset: int,
    max_bytes: int,
    *,
    min_one: bool = True,
    up_to: int | None = None,
    with_aborted: bool = False,
) -> Generator[None, LogRead, Broken]:
    """A reader gets batches in order, from its offset up to where it may, and all that was aborted.

    Nor does it go on behind what it has not read.
    """
    end = log.log_end_offset if up_to is None else min(up_to, log.log_end_offset)
    is_damaged = tree_of(log.segments[0].directory.files.disk) is None
    aborted = aborted_on_disk(log.segments) if with_aborted else None
    found = yield
    headers = headers_of(found.buffers)
    starts, ends = [one.base_offset for one in headers], [one.next_offset for one in headers]
    if is_damaged or starts != sorted(starts):
        return None
    if headers and (ends[0] <= offset or ends[-1] > end):
        return f"{log.name} is read from {offset} up to {end}: {headers}"
    if found.next_offset > max(end, offset):
        return f"{log.name} is read up to {end}, and on from {found.next_offset}"
    if not with_aborted or aborted is None or not headers:
        return None
    there = [
        one
        for one in aborted
        if one.last_offset >= offset and one.first_offset < headers[-1].next_offset
    ]
    missing = [one for one in there if one not in found.aborted]
    return f"{log.name} from {offset} on: {missing} are not told" if missing else None


@of_method(PartitionLog, "offset_for_timestamp")
def offset_for_timestamp(
    log: PartitionLog, timestamp: int
) -> Generator[None, FoundOffset | None, Broken]:
    """What is found by its time is the first record of that time or a later one."""
    try:
        found = yield
    except KafkaError:
        return None
    if found is not None and (
        found.timestamp < timestamp or not log.log_start_offset <= found.offset < log.log_end_offset
    ):
        return f"{found} is found in {log.name} for {timestamp}"
    end = log.log_end_offset if found is None else found.offset
    for header, batch in _batches(log.segments):
        if header.last_offset < log.log_start_offset or header.max_timestamp < timestamp:
            continue
        if header.base_offset >= end:
            return None
        for record in iterate_stored_records(batch, 0, header):
            is_there = log.log_start_offset <= record.offset < end
            if is_there and record.timestamp_ms >= timestamp:
                return f"{record.offset} of {log.name} has {record.timestamp_ms}, found is {found}"
    return None


def _batches(segments: Sequence[Segment]) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Give the batches of a log as far as they can be read."""
    tree = tree_of(segments[0].directory.files.disk)
    for segment in () if tree is None else segments:
        assert tree is not None
        data = memoryview(content(tree, segment.files.name(LOG_SUFFIX)) or b"")[
            : segment.size_bytes
        ]
        try:
            for at, header in iterate_stored_batches(data):
                yield header, data[at : at + header.size_bytes]
        except Malformed:
            return


@of_method(LogSegments, "cut")
def cut(segments: LogSegments, offset: int) -> Generator[None, ProducerStates, Broken]:
    """Of what is cut off a log no index tells.

    Else what is written there next would be taken for aborted, or for as old as what was there.
    """
    before = aborted_on_disk(segments.segments)
    yield
    after = aborted_on_disk(segments.segments)
    name = segments.directory.name
    if before is not None and after is not None:
        wanted = [one for one in before if one.last_offset < offset]
        if after != wanted:
            return f"{name} is cut at {offset}, its aborted transactions are {after}, not {wanted}"
    active = segments.active
    newest = _newest(active)
    if newest is not None and active.largest_timestamp.timestamp > newest.timestamp:
        return f"{name} is cut at {offset}: {active.largest_timestamp} is newer than {newest}"
    late = [
        one
        for one in (active.offset_index.last, active.time_index.last)
        if one and one.offset >= offset
    ]
    return f"{name} is cut at {offset}, its indexes end with {late}" if late else None


def _newest(segment: Segment) -> TimestampOffset | None:
    """Return the newest time of a segment; None where it cannot be read."""
    if tree_of(segment.directory.files.disk) is None:
        return None
    found = [(header.max_timestamp, header.last_offset) for header, _ in _batches([segment])]
    return TimestampOffset(*max(found, default=(NO_TIMESTAMP, -1)))


@of_method(LogSegments, "remove_oldest")
def remove_oldest(segments: LogSegments, count: int) -> Generator[None, object, Broken]:
    """A log that has lost all its records goes on after a power cut where it would have.

    Not one whose folder would be lost, or another one of its name be there (seed 1063781).
    """
    yield
    first, folder = segments.segments[0], segments.directory.name
    tree = tree_of(segments.directory.files.disk)
    if tree is None or first.size_bytes or tree.synced.get(folder) is not tree.children[folder]:
        return None
    name = first.files.name(LOG_SUFFIX)
    is_kept = durable(tree, name) is not None or is_spoilt(tree, name)
    return None if is_kept else f"{name}, the first of {count} fewer, would not outlive a power cut"
