"""Which records of a refused batch are at fault, in the words of Kafka (KIP-467).

It looks into every record, and only once a batch was refused: what may be appended is decided in
`broker.core.append`.
Source: LogValidator.java validateRecord, processRecordErrors.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from broker.core.append import AppendLimits, RecordsRefused, RecordsSeen, is_out_of_time
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ids import NO_TIMESTAMP, TopicPartition
from protocol.ports import Buffer
from protocol.records.batch import (
    ATTRIBUTES_LOW_POSITION,
    COMPRESSION_MASK,
    HEADER_SIZE_BYTES,
    MAGIC,
    MAGIC_POSITION,
    BatchHeader,
    Compression,
    read_batch_header,
)
from protocol.records.compression import OUTPUT_BYTES_MAX
from protocol.records.records import RecordView, iterate_unpacked_views, unpacked_in_steps
from protocol.records.steps import Steps, at_once

VIEWS_OF_A_STEP: Final = 1_000
"""Some milliseconds."""
NAMED_MAX: Final = 1_000
"""How many records one answer names; the message for the batch counts all."""
_COUNT: Final = Struct(">I")
_COUNT_AT: Final = HEADER_SIZE_BYTES - _COUNT.size
SHOWN_MAX: Final = 3
"""How many records the message for the batch repeats."""


class RecordError(NamedTuple):
    """One record that is at fault."""

    batch_index: int
    """Which of its batch, from 0."""
    message: str

    def __str__(self) -> str:
        return f"RecordError(batchIndex={self.batch_index}, message='{self.message}')"


class RecordErrors(NamedTuple):
    """What is answered for a batch of which some records were refused."""

    code: ErrorCode
    message: str
    records: tuple[RecordError, ...]


class RecordsNamed(RecordsRefused):
    """Single records are at fault, and these are they."""

    def __init__(self, errors: RecordErrors) -> None:
        super().__init__(errors.code, errors.message)
        self.errors = errors


def name_records(
    tp: TopicPartition, batch: Buffer, limits: AppendLimits, now_ms: int
) -> RecordErrors | None:
    """Return the records of a batch that no log with these limits takes; None without any.

    ``batch`` is as the producer sent it and well-formed; ``now_ms`` is wall-clock time.
    """
    try:
        return at_once(_named_in_steps(tp, batch, limits, now_ms))
    except Malformed:
        return None


def is_looked_at_before(batch: Buffer, limits: AppendLimits, now_ms: int) -> bool:
    """Tell whether the records of a batch are looked at in steps, before it is appended.

    They are where somebody has to look at them, and where they are many or nobody knows how large
    they are without compression. What is too large, or no batch, ``prepare_append`` refuses
    unseen.
    """
    if len(batch) < HEADER_SIZE_BYTES or batch[MAGIC_POSITION] != MAGIC:
        return False
    is_packed = bool(batch[ATTRIBUTES_LOW_POSITION] & COMPRESSION_MASK)
    records_count: int = _COUNT.unpack_from(batch, _COUNT_AT)[0]
    if not is_packed and records_count <= VIEWS_OF_A_STEP:
        return False
    try:
        header = read_batch_header(batch)
    except Malformed:
        return False
    if header.size_bytes != len(batch) or header.size_bytes > limits.max_message_bytes:
        return False
    return limits.looks_into_records or is_out_of_time(header, limits, now_ms)


def look_in_steps(
    tp: TopicPartition, batch: Buffer, limits: AppendLimits, now_ms: int
) -> Steps[RecordsSeen]:
    """Look at every record of a batch, ``VIEWS_OF_A_STEP`` at a time.

    What its header says wrong is left to ``prepare_append``, but for times: they are told of the
    records that have them.
    """
    try:
        named = yield from _named_in_steps(tp, batch, limits, now_ms)
    except Malformed as error:
        return RecordsSeen(KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)))
    return RecordsSeen(None if named is None else RecordsNamed(named))


def _named_in_steps(
    tp: TopicPartition, batch: Buffer, limits: AppendLimits, now_ms: int
) -> Steps[RecordErrors | None]:
    has_wrong_time = False
    faults_count = 0
    found: list[RecordError] = []
    header = read_batch_header(batch)
    data = yield from unpacked_in_steps(batch, 0, header, output_bytes_max=OUTPUT_BYTES_MAX)
    for number, record in enumerate(iterate_unpacked_views(data, header)):
        fault = _fault(tp, header, record, limits, now_ms)
        if fault is not None:
            has_wrong_time = has_wrong_time or fault[0] is ErrorCode.INVALID_TIMESTAMP
            faults_count += 1
            if faults_count <= NAMED_MAX:
                found.append(RecordError(number, fault[1]))
        if number % VIEWS_OF_A_STEP == VIEWS_OF_A_STEP - 1:
            yield
    if not found:
        return None
    if has_wrong_time:
        text = "One or more records have been rejected due to invalid timestamp"
        return RecordErrors(ErrorCode.INVALID_TIMESTAMP, text, tuple(found))
    shown = ", ".join(map(str, found[:SHOWN_MAX]))
    text = (
        f"One or more records have been rejected due to {faults_count} record errors in total, "
        f"and only showing the first three errors at most: [{shown}]"
    )
    return RecordErrors(ErrorCode.INVALID_RECORD, text, tuple(found))


def _fault(
    tp: TopicPartition, header: BatchHeader, record: RecordView, limits: AppendLimits, now_ms: int
) -> tuple[ErrorCode, str] | None:
    if limits.requires_keys and record.key is None:
        return (
            ErrorCode.INVALID_RECORD,
            f"Compacted topic cannot accept message without key in topic partition {tp}",
        )
    text = _time_fault(header, record, limits, now_ms)
    return None if text is None else (ErrorCode.INVALID_TIMESTAMP, text)


def _time_fault(
    header: BatchHeader, record: RecordView, limits: AppendLimits, now_ms: int
) -> str | None:
    if header.is_log_append_time:
        return (
            f"Invalid timestamp type in message {_words(header, record)}. "
            "Producer should not set timestamp type to LogAppendTime."
        )
    at_ms = record.timestamp_ms
    if limits.is_log_append_time or at_ms == NO_TIMESTAMP:
        return None
    first_ms = now_ms - limits.timestamp_before_max_ms
    last_ms = now_ms + limits.timestamp_after_max_ms
    if first_ms <= at_ms <= last_ms:
        return None
    return (
        f"Timestamp {at_ms} of message with offset {record.offset} is out of range. "
        f"The timestamp should be within [{_as_long(first_ms)}, {_as_long(last_ms)}]"
    )


def _words(header: BatchHeader, record: RecordView) -> str:
    """Name a record as ``toString`` of Kafka's classes does; a null has no bytes, or -1."""
    is_plain = header.compression is Compression.NONE
    kind, null_bytes = ("DefaultRecord", 0) if is_plain else ("PartialDefaultRecord", -1)
    key_bytes = null_bytes if record.key is None else len(record.key)
    value_bytes = null_bytes if record.value is None else len(record.value)
    return (
        f"{kind}(offset={record.offset}, timestamp={record.timestamp_ms}, "
        f"key={key_bytes} bytes, value={value_bytes} bytes)"
    )


def _as_long(number: int) -> int:
    """Return what a signed 64-bit integer makes of it: Kafka's bounds overflow."""
    return (number + 2**63) % 2**64 - 2**63
