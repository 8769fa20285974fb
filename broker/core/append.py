"""What may be appended to a log: a producer's batch on a leader, fetched batches on a follower.

It looks at batch headers and the CRC, at single records only where a topic's config needs it, and
writes only the fields that a leader stamps in place. Recompression does not exist here; old formats
are converted before they come here (`broker.core.message_sets`).
Source: UnifiedLog.scala analyzeAndValidateRecords, LogValidator.java.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from broker.core.producer_entry import Duplicate
from broker.core.producers import ProducerStates
from broker.core.verification import VerificationGuard
from protocol.configs.types import LONG_MAX
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ids import NO_EPOCH, NO_TIMESTAMP
from protocol.ports import Buffer
from protocol.records.batch import (
    ATTRIBUTES_LOW_POSITION,
    CONTROL_BIT,
    MAGIC,
    MAGIC_POSITION,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    BatchHeader,
    Compression,
    UnsupportedMagic,
    check_crc,
    read_batch_header,
    stamp,
    stamp_log_append_time,
)
from protocol.records.entries import check_stored_crc, iterate_stored_batches
from protocol.records.spans import first_without_key, record_bytes, record_spans


class RecordsSeen(NamedTuple):
    """What a look at every record of a batch found; `broker.core.record_errors` looks."""

    fault: KafkaError | None
    """Why the batch is refused, if it is."""


class RecordsRefused(KafkaError):  # noqa: N818 -- says what happened
    """Single records are at fault; which ones, `broker.core.record_errors` tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendLimits:
    """What a topic's config says about a batch."""

    max_message_bytes: int = 1_048_588
    """``max.message.bytes``: the whole batch with its header."""
    segment_bytes: int = 1 << 30
    """``segment.bytes``: a batch must fit into one segment."""
    is_log_append_time: bool = False
    """``message.timestamp.type`` is LogAppendTime."""
    timestamp_before_max_ms: int = LONG_MAX
    """``message.timestamp.before.max.ms``"""
    timestamp_after_max_ms: int = LONG_MAX
    """``message.timestamp.after.max.ms``"""
    requires_keys: bool = False
    """``cleanup.policy`` has ``compact``. Only this and a bound of age look into records."""
    seen: RecordsSeen | None = None
    """Of the one batch that is appended, where its records were looked at before."""
    is_coordinators: bool = False
    """A coordinator writes it, with the producer of a transaction, whose sequences it has not."""
    guard: VerificationGuard | None = None
    """What a transactional batch brings; None where transactions are not verified."""

    @property
    def looks_into_records(self) -> bool:
        """Whether headers are not enough."""
        return self.requires_keys or self.timestamp_before_max_ms < LONG_MAX


class PreparedAppend(NamedTuple):
    """A leader's append, stamped and ready; with ``duplicate`` set there is nothing to write."""

    first_offset: int
    last_offset: int
    size_bytes: int
    """0 for a duplicate."""
    log_append_time_ms: int
    """-1 unless the topic uses LogAppendTime; of a duplicate always that of the first one."""
    duplicate: Duplicate | None


class FollowerAppend(NamedTuple):
    """Whole batches that a follower or a future log appends unchanged."""

    first_offset: int
    last_offset: int
    batches: tuple[BatchHeader, ...]
    """Empty when no whole batch came: nothing to write then, all numbers are -1 or 0."""
    size_bytes: int
    """The leading bytes of the buffer to write; a cut batch at its end is left out."""
    restart_at: int | None
    """Truncate the (empty) log fully and start at this offset first: its start lies inside a batch
    (KAFKA-6975)."""
    gap_at: int | None
    """Where offsets are left out that should be there; what is behind is not to be written yet."""


def prepare_append(
    buffer: bytearray | memoryview,
    *,
    next_offset: int,
    leader_epoch: int,
    limits: AppendLimits,
    producers: ProducerStates,
    now_ms: int,
) -> PreparedAppend:
    """Validate one producer batch, give it offsets in place and note it in ``producers``.

    ``buffer`` holds exactly one batch and is written; ``now_ms`` is wall-clock time.

    Raises:
        KafkaError: UNSUPPORTED_FOR_MESSAGE_FORMAT for formats 0 and 1, MESSAGE_TOO_LARGE,
            RECORD_LIST_TOO_LARGE, CORRUPT_MESSAGE, INVALID_RECORD, INVALID_TIMESTAMP,
            UNSUPPORTED_COMPRESSION_TYPE, or one of ``ProducerStates.check``; RecordsRefused when
            single records are at fault. ``buffer`` and ``producers`` are unchanged then.
    """
    header = _read_only_batch(buffer, limits)
    _check_fields(header)
    if limits.seen is not None and limits.seen.fault is not None:
        raise limits.seen.fault
    _check_timestamps(header, limits, now_ms)
    if limits.seen is None and limits.looks_into_records:
        _check_records(buffer, header, limits, now_ms)
    if header.producer_id >= 0:
        duplicate = None
        if limits.is_coordinators:
            producers.check_epoch(header, limits.guard)
        else:
            duplicate = producers.check(header, limits.guard)
        if duplicate is not None:
            return _already_there(duplicate)
    stamp(buffer, 0, base_offset=next_offset, leader_epoch=leader_epoch)
    timestamp = header.max_timestamp
    append_time_ms = NO_TIMESTAMP
    if limits.is_log_append_time:
        stamp_log_append_time(buffer, 0, header, now_ms)
        timestamp = append_time_ms = now_ms
    if header.producer_id >= 0:
        producers.update(header, next_offset, timestamp=timestamp, now_ms=now_ms)
    last_offset = next_offset + header.last_offset_delta
    return PreparedAppend(next_offset, last_offset, len(buffer), append_time_ms, None)


def is_transactional(buffer: Buffer) -> bool:
    """Tell whether a producer's batch is part of a transaction; older formats never are."""
    return (
        len(buffer) > ATTRIBUTES_LOW_POSITION
        and buffer[MAGIC_POSITION] == MAGIC
        and bool(buffer[ATTRIBUTES_LOW_POSITION] & TRANSACTIONAL_BIT)
    )


class EpochRange(NamedTuple):
    """The leader epochs that fetched batches may have; those of the older formats have none."""

    first: int = NO_EPOCH
    """Of the last batch before: epochs never go back in a log."""
    last: int = 2**31 - 1
    """The leader's own."""

    def after(self, batch: BatchHeader) -> EpochRange:
        """Return those that the next batch may have.

        Raises:
            KafkaError: CORRUPT_MESSAGE: this one has none of them.
        """
        epoch = batch.partition_leader_epoch
        if epoch == NO_EPOCH:
            return self
        if not self.first <= epoch <= self.last:
            text = f"leader epoch {epoch} at offset {batch.base_offset} is not in {self}"
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, text)
        return self if epoch == self.first else self._replace(first=epoch)


ANY_EPOCH: Final = EpochRange()


def check_follower_append(
    buffer: Buffer,
    *,
    next_offset: int,
    epochs: EpochRange = ANY_EPOCH,
    log_is_empty: bool = False,
    doubts_gaps: bool = False,
    known_gap: int | None = None,
) -> FollowerAppend:
    """Check fetched batches against the end of the local log; nothing is stamped.

    Call ``ReplicaProducers.note_replicated`` and ``LeaderEpochs.assign`` with the batches later.

    Args:
        buffer: whole batches, the last one perhaps cut.
        next_offset: where the log ends.
        epochs: what leader epochs the batches may have. A batch's CRC does not cover its epoch: one
            that a disk has changed would make recovery cut the log behind it (KAFKA-18723).
        log_is_empty: it may begin anew at a batch that its start lies in.
        doubts_gaps: end at offsets that are left out, as where nothing is compacted.
        known_gap: but not at these: they were seen to be left out before.

    Raises:
        KafkaError: CORRUPT_MESSAGE for a wrong CRC or leader epoch, or offsets that go back inside
            ``buffer``, OFFSET_OUT_OF_RANGE when the first batch begins before ``next_offset``.
    """
    batches: list[BatchHeader] = []
    expected = next_offset
    restart_at: int | None = None
    gap_at: int | None = None
    size_bytes = 0
    try:
        for position, header in iterate_stored_batches(buffer):
            if not check_stored_crc(buffer, position, header):
                raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"CRC at offset {header.base_offset}")
            epochs = epochs.after(header)
            if doubts_gaps and header.base_offset > expected != known_gap:
                gap_at = expected
                break
            if header.base_offset < expected:
                _check_restart(header, expected, can_restart=log_is_empty and not batches)
                restart_at = header.base_offset
            batches.append(header)
            expected = header.next_offset
            size_bytes = position + header.size_bytes
    except Malformed as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from error
    if not batches:
        return FollowerAppend(-1, -1, (), 0, None, gap_at)
    return FollowerAppend(
        batches[0].base_offset,
        batches[-1].last_offset,
        tuple(batches),
        size_bytes,
        restart_at,
        gap_at,
    )


def _read_only_batch(buffer: bytearray | memoryview, limits: AppendLimits) -> BatchHeader:
    if len(buffer) == 0:
        raise _invalid_record("no record batch")
    try:
        header = read_batch_header(buffer)
    except UnsupportedMagic as error:
        code = ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
        raise KafkaError(_magic_error(buffer, code), str(error)) from error
    except Malformed as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from error
    size_bytes = header.size_bytes
    if size_bytes > limits.max_message_bytes:
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"batch of {size_bytes} bytes, max.message.bytes is {limits.max_message_bytes}",
        )
    if size_bytes > limits.segment_bytes:
        raise KafkaError(
            ErrorCode.RECORD_LIST_TOO_LARGE,
            f"batch of {size_bytes} bytes, segment.bytes is {limits.segment_bytes}",
        )
    if size_bytes < len(buffer):
        raise _invalid_record(f"{len(buffer) - size_bytes} bytes after the only batch")
    if not check_crc(buffer, 0, header):
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"batch of {size_bytes} bytes fails its CRC")
    return header


def _magic_error(buffer: Buffer, code_of_old: ErrorCode) -> ErrorCode:
    """Return the code for a format other than 2: one that nobody knows is damage."""
    return code_of_old if buffer[MAGIC_POSITION] < MAGIC else ErrorCode.CORRUPT_MESSAGE


def _check_fields(header: BatchHeader) -> None:
    if header.base_offset != 0:
        raise _invalid_record(f"base offset {header.base_offset} from a producer, it must be 0")
    count = header.records_count
    if count <= 0 or header.last_offset_delta + 1 != count:
        raise _invalid_record(f"{count} records with last offset delta {header.last_offset_delta}")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise _invalid_record(f"sequence {header.base_sequence} with a producer id")
    attributes = header.attributes
    if attributes & CONTROL_BIT:
        raise _invalid_record("clients may not write control records")
    if attributes & 7 > Compression.ZSTD:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"compression code {attributes & 7}"
        )


def is_out_of_time(header: BatchHeader, limits: AppendLimits, now_ms: int) -> bool:
    """Tell whether the header alone says that times of the records cannot be taken."""
    if header.attributes & TIMESTAMP_TYPE_BIT:
        return True
    if limits.is_log_append_time:
        return False
    newest = header.max_timestamp
    return newest != NO_TIMESTAMP and newest - now_ms > limits.timestamp_after_max_ms


def _check_timestamps(header: BatchHeader, limits: AppendLimits, now_ms: int) -> None:
    if not is_out_of_time(header, limits, now_ms):
        return
    if header.attributes & TIMESTAMP_TYPE_BIT:
        raise RecordsRefused(
            ErrorCode.INVALID_TIMESTAMP, "producers may not set the timestamp type LogAppendTime"
        )
    raise _out_of_time(header.max_timestamp, now_ms)


def _check_records(buffer: Buffer, header: BatchHeader, limits: AppendLimits, now_ms: int) -> None:
    if limits.requires_keys:
        _check_keys(buffer, header)
    if limits.timestamp_before_max_ms < LONG_MAX:
        _check_oldest(buffer, header, limits, now_ms)


def _check_keys(buffer: Buffer, header: BatchHeader) -> None:
    """Look for a record that compaction could not keep. Source: LogValidator.validateKey."""
    try:
        number = first_without_key(record_bytes(buffer, header), header.records_count)
    except Malformed as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from error
    if number is not None:
        raise RecordsRefused(
            ErrorCode.INVALID_RECORD,
            f"Compacted topic cannot accept message without key: record {number} of the batch",
        )


def _check_oldest(buffer: Buffer, header: BatchHeader, limits: AppendLimits, now_ms: int) -> None:
    """Look for the oldest record, which is not always the first. Only where one can be too old."""
    if limits.is_log_append_time:
        return
    try:
        spans = record_spans(record_bytes(buffer, header), header.records_count)
    except Malformed as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from error
    times = (header.base_timestamp + span.timestamp_delta for span in spans)
    oldest = min((at_ms for at_ms in times if at_ms != NO_TIMESTAMP), default=now_ms)
    if now_ms - oldest > limits.timestamp_before_max_ms:
        raise _out_of_time(oldest, now_ms)


def _already_there(duplicate: Duplicate) -> PreparedAppend:
    """Answer as for the first one, with its time, of whatever type. Source: UnifiedLog.append."""
    first, last, timestamp = duplicate
    return PreparedAppend(first, last, 0, timestamp, duplicate)


def _check_restart(header: BatchHeader, expected: int, *, can_restart: bool) -> None:
    if can_restart and header.last_offset >= expected:
        return
    raise KafkaError(
        ErrorCode.OFFSET_OUT_OF_RANGE,
        f"batch begins at {header.base_offset}, the log goes on at {expected}",
    )


def _invalid_record(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, message)


def _out_of_time(timestamp: int, now_ms: int) -> KafkaError:
    return RecordsRefused(
        ErrorCode.INVALID_TIMESTAMP, f"timestamp {timestamp} is too far from now, {now_ms}"
    )
