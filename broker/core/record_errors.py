"""Which records of a refused batch are at fault, in the words of Kafka (KIP-467).

It looks into every record, and only once a batch was refused: what may be appended is decided in
`broker.core.append`.
Source: LogValidator.java validateRecord, processRecordErrors.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from broker.core.append import AppendLimits
from protocol.errors import ErrorCode, Malformed
from protocol.ids import TopicPartition
from protocol.ports import Buffer
from protocol.records.batch import BatchHeader, Compression, read_batch_header
from protocol.records.records import RecordView, iterate_record_views

SHOWN_MAX: Final = 3
"""How many records the message for the batch repeats."""
_NO_TIMESTAMP: Final = -1


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


def name_records(
    tp: TopicPartition, batch: Buffer, limits: AppendLimits, now_ms: int
) -> RecordErrors | None:
    """Return the records of a batch that no log with these limits takes; None without any.

    ``batch`` is as the producer sent it and well-formed; ``now_ms`` is wall-clock time.
    """
    codes: list[ErrorCode] = []
    found: list[RecordError] = []
    try:
        header = read_batch_header(batch)
        for number, record in enumerate(iterate_record_views(batch, 0, header)):
            fault = _fault(tp, header, record, limits, now_ms)
            if fault is not None:
                codes.append(fault[0])
                found.append(RecordError(number, fault[1]))
    except Malformed:
        return None
    if not found:
        return None
    if ErrorCode.INVALID_TIMESTAMP in codes:
        text = "One or more records have been rejected due to invalid timestamp"
        return RecordErrors(ErrorCode.INVALID_TIMESTAMP, text, tuple(found))
    shown = ", ".join(map(str, found[:SHOWN_MAX]))
    text = (
        f"One or more records have been rejected due to {len(found)} record errors in total, "
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
    if limits.is_log_append_time or at_ms == _NO_TIMESTAMP:
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
