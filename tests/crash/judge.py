"""Whether a log found on a disk is whole: batches, indexes, leader epochs and producers agree.

The judge reads the log's files as they are and works everything out by a plain scan.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker.core.leader_epochs import LeaderEpochs
from broker.core.producers import ProducerEntry, ProducerStates
from broker.storage.batch_scan import scan_batches
from broker.storage.indexes import AbortedTransaction, aborted_entry
from broker.storage.partition_log import PartitionLog
from protocol.ids import NO_SEQUENCE
from protocol.records.batch import BatchHeader
from protocol.records.records import iterate_records


def batches_of(log: PartitionLog) -> list[tuple[BatchHeader, bytes]]:
    """Return every batch in the files of a log, sums checked, in order."""
    return [
        (header, bytes(batch))
        for segment in log.segments
        if segment.size_bytes
        for _, header, batch in scan_batches(segment.file(), 0, segment.size_bytes, verify=True)
    ]


def values_of(batches: Sequence[tuple[BatchHeader, bytes]]) -> dict[int, bytes]:
    """Return the value of each record by offset."""
    return {
        record.offset: bytes(record.value or b"")
        for header, batch in batches
        for record in iterate_records(batch, 0, header)
    }


def check_log(
    log: PartitionLog,
    epochs: Sequence[tuple[int, int]],
    producers: Sequence[ProducerEntry],
    *,
    is_compacted: bool = False,
) -> dict[int, bytes]:
    """Assert that all of a log agrees with a scan of it; return its visible values by offset.

    A compacted log may have gaps: within segments, and before its recovery point between them.
    """
    batches = batches_of(log)
    _check_offsets(log, batches, is_compacted=is_compacted)
    _check_reads(log, batches)
    _check_times(log, batches)
    _check_epochs(epochs, batches, log)
    _check_producers(producers, batches, log, is_compacted=is_compacted)
    values = values_of(batches)
    return {offset: values[offset] for offset in values if offset >= log.log_start_offset}


def _check_offsets(
    log: PartitionLog, batches: Sequence[tuple[BatchHeader, bytes]], *, is_compacted: bool
) -> None:
    bases = log.segment_base_offsets
    next_offset = bases[0]
    for header, _ in batches:
        begins_segment = header.base_offset in bases
        if is_compacted and (not begins_segment or header.base_offset <= log.recovery_point):
            next_offset = max(next_offset, header.base_offset)
        assert header.base_offset == next_offset, f"{log.name}: {header} after {next_offset}"
        next_offset = header.next_offset
    assert log.log_start_offset <= log.log_end_offset, log.name
    if batches:
        assert log.log_end_offset >= next_offset, f"{log.name}: ends at {log.log_end_offset}"
    assert log.recovery_point <= log.log_end_offset, log.name
    assert log.size_bytes == sum(len(batch) for _, batch in batches), log.name
    for segment in log.segments:
        assert segment.file().size() == segment.size_bytes, f"{log.name}: a torn tail is left"


def _check_reads(log: PartitionLog, batches: Sequence[tuple[BatchHeader, bytes]]) -> None:
    """The offset indexes lead to every batch, from each of its offsets."""
    for header, batch in batches:
        for offset in (header.base_offset, header.last_offset):
            if log.log_start_offset <= offset:
                read = b"".join(bytes(part) for part in log.read(offset, 1).buffers)
                assert read == batch, f"{log.name}: reading {offset} gives another batch"


def _check_times(log: PartitionLog, batches: Sequence[tuple[BatchHeader, bytes]]) -> None:
    """The time indexes find what a scan finds."""
    records = [
        (record.timestamp_ms, record.offset)
        for header, batch in batches
        for record in iterate_records(batch, 0, header)
        if record.offset >= log.log_start_offset
    ]
    for timestamp in sorted(dict.fromkeys(time for time, _ in records)):
        first = next((time, offset) for time, offset in records if time >= timestamp)
        found = log.offset_for_timestamp(timestamp)
        assert found is not None, f"{log.name}: nothing found at {timestamp}"
        assert (found.timestamp, found.offset) == first, f"{log.name}: {timestamp} leads to {found}"


def _check_epochs(
    entries: Sequence[tuple[int, int]],
    batches: Sequence[tuple[BatchHeader, bytes]],
    log: PartitionLog,
) -> None:
    epochs = LeaderEpochs(entries)
    for header, _ in batches:
        if header.last_offset >= log.log_start_offset and header.partition_leader_epoch >= 0:
            known = epochs.epoch_at(max(header.base_offset, log.log_start_offset))
            assert known == header.partition_leader_epoch, f"{log.name}: {header}, {entries}"
    for _, start_offset in entries:
        assert start_offset <= log.log_end_offset, f"{log.name}: {entries} go beyond the end"


def _check_producers(
    producers: Sequence[ProducerEntry],
    batches: Sequence[tuple[BatchHeader, bytes]],
    log: PartitionLog,
    *,
    is_compacted: bool,
) -> None:
    """The producers are those of the batches, and perhaps of batches that are gone."""
    replayed = ProducerStates()
    aborted: list[AbortedTransaction] = []
    for header, batch in batches:
        if header.producer_id >= 0:
            ended = replayed.note(header, batch, 0)
            if ended is not None and ended.is_aborted:
                aborted.append(aborted_entry(ended))
    expected = {entry.producer_id: entry for entry in replayed.snapshot_entries()}
    known = {entry.producer_id: entry for entry in producers}
    if log.segments[0].base_offset == 0 and not is_compacted:
        assert known == expected, f"{log.name}: the producers are not those of the batches"
        found = log.aborted_transactions(0, log.log_end_offset)
        assert found == aborted, f"{log.name}: other transactions were aborted"
    for producer_id, entry in expected.items():
        other = known.get(producer_id)
        assert other is not None, f"{log.name}: producer {producer_id} is forgotten"
        if entry.last_sequence != NO_SEQUENCE:
            assert other.last_sequence == entry.last_sequence, f"{log.name}: {other}, not {entry}"
