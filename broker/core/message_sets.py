"""What a topic lets producers of Produce versions 0 to 2 write: message sets, formats 0 and 1.

They become one batch of format 2, which `broker.core.append` then checks and stamps like any other.
Source: UnifiedLog.scala analyzeAndValidateRecords, LogValidator.java.
"""

from __future__ import annotations

from typing import Final

from protocol.configs.topic import TopicConfig
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ids import NO_TIMESTAMP
from protocol.ports import Buffer
from protocol.records.batch import HEADER_SIZE_BYTES, MAGIC, MAGIC_POSITION, Compression
from protocol.records.compression import CONVERTED_BYTES_MAX
from protocol.records.message_set import (
    ENTRY_OVERHEAD_BYTES,
    InvalidMessageSet,
    MessageHeader,
    iterate_messages,
)
from protocol.records.steps import RECORDS_OF_A_STEP, Steps
from protocol.records.up_convert import up_convert_in_steps

_RECORD_OVERHEAD_BYTES_MIN: Final = 7
"""What format 2 has around the key and value of one record, at the least."""


def is_message_set(records: Buffer) -> bool:
    """Tell by the format number of the first entry, whatever follows."""
    return len(records) > MAGIC_POSITION and records[MAGIC_POSITION] < MAGIC


def convert_in_steps(records: Buffer, config: TopicConfig) -> Steps[bytearray]:
    """Return ``records``, a message set, as one batch of format 2, in many short steps.

    A cut message at the end is left out.

    Raises:
        KafkaError: MESSAGE_TOO_LARGE, CORRUPT_MESSAGE, INVALID_RECORD or INVALID_TIMESTAMP.
    """
    try:
        yield from _check_entries(records, config)
        return (
            yield from up_convert_in_steps(
                records,
                needs_keys="compact" in config.cleanup_policy,
                output_bytes_max=CONVERTED_BYTES_MAX,
            )
        )
    except InvalidMessageSet as error:
        raise KafkaError(ErrorCode.INVALID_RECORD, str(error)) from error
    except Malformed as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from error


def _check_entries(records: Buffer, config: TopicConfig) -> Steps[None]:
    """Refuse by the headers alone what can never be appended, before any of it is converted."""
    batch_bytes_min = HEADER_SIZE_BYTES
    for count, (_, header) in enumerate(iterate_messages(records), start=1):
        if header.compression is Compression.NONE:
            content_bytes = header.size_bytes - ENTRY_OVERHEAD_BYTES[header.magic]
            batch_bytes_min += content_bytes + _RECORD_OVERHEAD_BYTES_MIN
        size_bytes = max(header.size_bytes, batch_bytes_min)
        if size_bytes > config.max_message_bytes:
            raise KafkaError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"{size_bytes} bytes and more, max.message.bytes is {config.max_message_bytes}",
            )
        _check_timestamp_type(header, config)
        if count % RECORDS_OF_A_STEP == 0:
            yield


def _check_timestamp_type(header: MessageHeader, config: TopicConfig) -> None:
    """Refuse LogAppendTime from a producer, but not where a time was given that may be kept.

    Source: LogValidator.java validateTimestamp.
    """
    keeps_time = config.message_timestamp_type == "CreateTime" and header.timestamp != NO_TIMESTAMP
    if header.is_log_append_time and not keeps_time:
        raise KafkaError(
            ErrorCode.INVALID_TIMESTAMP, "producers may not set the timestamp type LogAppendTime"
        )
