"""What is promised of batches before they are in a log, a leader's or a follower's.

Source: UnifiedLog.scala analyzeAndValidateRecords, LogValidator.java; KIP-101, KIP-937.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Final

from broker.core import append as rules
from broker.core import message_sets, recompression
from broker.core.append import AppendLimits, FollowerAppend, PreparedAppend
from broker.core.producers import ProducerStates
from protocol.configs.topic import TopicConfig
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ids import NO_EPOCH
from protocol.ports import Buffer
from protocol.records.batch import (
    BatchHeader,
    check_crc,
    read_batch_header,
    whole_batches_size_bytes,
)
from protocol.records.entries import check_stored_crc, iterate_stored_batches
from protocol.records.records import Record, iterate_records
from simulation.contracts.contract import Broken, of_function
from simulation.contracts.logs.producers import known

_FOREVER: Final = 2**63 - 1
_OF_PRODUCERS: Final = (
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.INVALID_TXN_STATE,
)
_CODECS: Final = ("uncompressed", "gzip", "snappy", "lz4", "zstd")


def _flaws(buffer: Buffer, limits: AppendLimits, now_ms: int) -> Iterator[ErrorCode]:
    """Give all that is wrong with a producer's batch."""
    if len(buffer) == 0:
        yield ErrorCode.INVALID_RECORD
        return
    if len(buffer) > 16 and buffer[16] < 2:
        yield ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
        return
    try:
        header = read_batch_header(buffer)
    except Malformed:
        yield ErrorCode.CORRUPT_MESSAGE
        return
    if header.size_bytes > limits.max_message_bytes:
        yield ErrorCode.MESSAGE_TOO_LARGE
    if header.size_bytes > limits.segment_bytes:
        yield ErrorCode.RECORD_LIST_TOO_LARGE
    if header.size_bytes < len(buffer) or _is_odd(header):
        yield ErrorCode.INVALID_RECORD
    if not check_crc(buffer, 0, header):
        yield ErrorCode.CORRUPT_MESSAGE
        return
    if header.attributes % 8 > 4:
        yield ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        return
    yield from _flaws_of_records(buffer, header, limits, now_ms)


def _is_odd(header: BatchHeader) -> bool:
    """Tell of a batch that no client may write."""
    has_gap = header.records_count != header.last_offset_delta + 1 or header.records_count < 1
    lacks_sequence = header.producer_id >= 0 > header.base_sequence
    return header.base_offset != 0 or has_gap or lacks_sequence or header.is_control


def _flaws_of_records(
    buffer: Buffer, header: BatchHeader, limits: AppendLimits, now_ms: int
) -> Iterator[ErrorCode]:
    if header.is_log_append_time or _is_ahead(header, limits, now_ms):
        yield ErrorCode.INVALID_TIMESTAMP
    if limits.seen is not None:
        if limits.seen.fault is not None:
            yield limits.seen.fault.code
        return
    if not limits.requires_keys and limits.timestamp_before_max_ms == _FOREVER:
        return
    try:
        records = list(iterate_records(buffer, 0, header))
    except Malformed:
        yield ErrorCode.CORRUPT_MESSAGE
        return
    if limits.requires_keys and any(record.key is None for record in records):
        yield ErrorCode.INVALID_RECORD
    if not limits.is_log_append_time and _has_old(records, limits, now_ms):
        yield ErrorCode.INVALID_TIMESTAMP


def _is_ahead(header: BatchHeader, limits: AppendLimits, now_ms: int) -> bool:
    if limits.is_log_append_time or header.max_timestamp == -1:
        return False
    return header.max_timestamp > now_ms + limits.timestamp_after_max_ms


def _has_old(records: list[Record], limits: AppendLimits, now_ms: int) -> bool:
    oldest_ms = now_ms - limits.timestamp_before_max_ms
    return any(record.timestamp_ms < oldest_ms for record in records if record.timestamp_ms != -1)


@of_function(rules.prepare_append)
def accepted(
    buffer: bytearray | memoryview,
    *,
    next_offset: int,
    leader_epoch: int,
    limits: AppendLimits,
    producers: ProducerStates,
    now_ms: int,
) -> Generator[None, PreparedAppend, Broken]:
    """Only what is wrong with a batch refuses it, and nothing wrong is appended."""
    flaws, head = list(_flaws(buffer, limits, now_ms)), bytes(buffer[:61])
    try:
        yield
    except KafkaError as error:
        is_due = error.code in flaws or (not flaws and error.code in _OF_PRODUCERS)
        if is_due and bytes(buffer[:61]) == head:
            return None
        return f"{error.code.name} for {head!r}, wrong are {flaws}"
    return f"{head!r} is appended: {flaws}" if flaws else None


@of_function(rules.prepare_append)
def stamped(
    buffer: bytearray | memoryview,
    *,
    next_offset: int,
    leader_epoch: int,
    limits: AppendLimits,
    producers: ProducerStates,
    now_ms: int,
) -> Generator[None, PreparedAppend, Broken]:
    """A batch gets the offsets behind the log's end, its leader's epoch, and is known by producer.

    Nothing else of it changes but its time, where that is the log's. A duplicate changes nothing.
    """
    before = bytes(buffer[:61])
    prepared = yield
    if prepared.duplicate is not None:
        first, last, timestamp = prepared.duplicate
        is_same = bytes(buffer[:61]) == before and prepared[:4] == (first, last, 0, timestamp)
        return None if is_same else f"{prepared} of a duplicate"
    was, header = read_batch_header(before), read_batch_header(buffer)
    time_ms = now_ms if limits.is_log_append_time else -1
    if prepared[:4] != (next_offset, header.last_offset, len(buffer), time_ms):
        return f"{prepared} for {header} at {next_offset}"
    wanted = was._replace(base_offset=next_offset, partition_leader_epoch=leader_epoch)
    if limits.is_log_append_time:
        attributes = was.attributes | 8
        wanted = wanted._replace(attributes=attributes, max_timestamp=now_ms, crc=header.crc)
    if header != wanted or not check_crc(buffer, 0, header):
        return f"{was} is stamped as {header}, not {wanted}"
    producer = known(producers, header.producer_id)
    batches = [] if producer is None else producer.batches[-1:]
    ends = [(one.last_offset, one.timestamp) for one in batches]
    is_noted = header.producer_id < 0 or ends == [(header.last_offset, header.max_timestamp)]
    return None if is_noted else f"{header} is noted of its producer as {batches}"


@of_function(rules.is_out_of_time)
def is_out_of_time(
    header: BatchHeader, limits: AppendLimits, now_ms: int
) -> Generator[None, bool, Broken]:
    """A batch of a time to come is refused, unless the log gives the time."""
    found = yield
    wanted = header.is_log_append_time or _is_ahead(header, limits, now_ms)
    return None if found is wanted else f"{found} for {header} at {now_ms}"


@of_function(rules.is_transactional)
def is_transactional(buffer: Buffer) -> Generator[None, bool, Broken]:
    """A batch of format 2 says whether it is part of a transaction."""
    found = yield
    wanted = len(buffer) >= 23 and buffer[16] == 2 and int(buffer[22]) // 16 % 2 == 1
    return None if found is wanted else f"{found} for {bytes(buffer[:23])!r}"


@of_function(message_sets.is_message_set)
def is_message_set(records: Buffer) -> Generator[None, bool, Broken]:
    """What clients of old write is of format 0 or 1."""
    found = yield
    wanted = bytes(records[16:17]) in {b"\x00", b"\x01"}
    return None if found is wanted else f"{found} for {bytes(records[:17])!r}"


@of_function(recompression.needs_recompression)
def needs_recompression(records: Buffer, config: TopicConfig) -> Generator[None, bool, Broken]:
    """A batch is packed anew where it has another codec than its topic."""
    needs = yield
    if config.compression_type not in _CODECS or len(records) < 61 or records[16] != 2:
        return "a batch is packed anew for nothing" if needs else None
    is_other = int(records[22]) % 8 != _CODECS.index(config.compression_type)
    return None if needs is is_other else f"{needs}: {records[22]:b} for {config.compression_type}"


@of_function(rules.check_follower_append)
def check_follower_append(
    buffer: Buffer,
    *,
    next_offset: int,
    epochs: rules.EpochRange = rules.ANY_EPOCH,
    log_is_empty: bool = False,
    doubts_gaps: bool = False,
    known_gap: int | None = None,
) -> Generator[None, FollowerAppend, Broken]:
    """A follower takes whole batches that follow each other, from where its log ends.

    Their leader epochs follow each other, too, up to the leader's. An empty log may begin where
    its first batch does, and offsets may be left out where that is known.
    """
    try:
        checked = yield
    except KafkaError as error:
        is_damaged, goes_back = _doubts(buffer, next_offset, epochs)
        is_due = goes_back if error.code is ErrorCode.OFFSET_OUT_OF_RANGE else is_damaged
        return None if is_due else f"{error.code.name}, at {next_offset}: {bytes(buffer[:61])!r}"
    batches = checked.batches
    if not batches:
        end, told = next_offset, checked._replace(gap_at=None)
        if told != (-1, -1, (), 0, None, None):
            return f"{checked} of nothing"
    else:
        end = batches[-1].last_offset + 1
        if (checked.first_offset, checked.last_offset) != (batches[0].base_offset, end - 1):
            return f"{checked} of other batches"
    if not _are_in_turn(batches, epochs):
        return f"leader epochs of {batches} are taken, {epochs} may be"
    broken = _misplaced(checked, next_offset, doubts=doubts_gaps, known_gap=known_gap)
    restarts = bool(batches) and batches[0].base_offset < next_offset
    if broken is None and restarts is not (checked.restart_at is not None):
        broken = f"it goes on at {next_offset}, begins anew at {checked.restart_at}"
    if broken is None and restarts and (not log_is_empty or batches[0].last_offset < next_offset):
        broken = f"a log that ends at {next_offset} begins anew at {checked.restart_at}"
    return broken or _cut(buffer, checked, end, doubts=doubts_gaps)


def _are_in_turn(batches: Sequence[BatchHeader], epochs: rules.EpochRange) -> bool:
    found = [each.partition_leader_epoch for each in batches]
    found = [each for each in found if each != NO_EPOCH]
    turn = [epochs.first, *found, epochs.last] if found else []
    return turn == sorted(turn)


def _misplaced(
    checked: FollowerAppend, next_offset: int, *, doubts: bool, known_gap: int | None
) -> Broken:
    expected = next_offset
    for number, header in enumerate(checked.batches):
        gap = header.base_offset - expected
        if (gap < 0 and number > 0) or (gap > 0 and doubts and expected != known_gap):
            return f"a batch at {header.base_offset} is taken, {expected} is next"
        expected = header.last_offset + 1
    is_gap = checked.gap_at in (None, expected) and (doubts or checked.gap_at is None)
    is_gap = is_gap and (checked.gap_at is None or checked.gap_at != known_gap)
    return None if is_gap else f"a gap at {checked.gap_at}, {expected} is next"


def _cut(buffer: Buffer, checked: FollowerAppend, end: int, *, doubts: bool) -> Broken:
    """Say what of the bytes is wrong: all whole batches up to a gap are taken, with right sums."""
    if checked.size_bytes != sum(header.size_bytes for header in checked.batches):
        return f"{checked.size_bytes} bytes of {checked.batches}"
    position = 0
    for header in checked.batches:
        if not check_stored_crc(buffer, position, header):
            return f"the sum of the batch at {header.base_offset} is wrong"
        position += header.size_bytes
    if checked.gap_at is not None:
        return None
    whole_bytes = whole_batches_size_bytes(buffer)
    is_all = whole_bytes == checked.size_bytes
    return None if is_all else f"{checked.size_bytes} of {whole_bytes} bytes are taken, to {end}"


def _doubts(buffer: Buffer, next_offset: int, epochs: rules.EpochRange) -> tuple[bool, bool]:
    """Tell whether batches are damaged, and whether offsets go back."""
    goes_back, expected = False, next_offset
    headers: list[BatchHeader] = []
    try:
        for position, header in iterate_stored_batches(buffer):
            headers.append(header)
            if not check_stored_crc(buffer, position, header) or not _are_in_turn(headers, epochs):
                return True, goes_back
            goes_back = goes_back or header.base_offset < expected
            expected = header.next_offset
    except Malformed:
        return True, goes_back
    return False, goes_back
