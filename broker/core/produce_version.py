"""What a Produce of a version may carry: one whole batch, in a format and a codec of its time.

It looks at lengths, the format and the codec only; `broker.core.append` at all else.
"""

from __future__ import annotations

from typing import Final

from protocol.errors import ErrorCode, KafkaError
from protocol.ports import Buffer
from protocol.records.batch import (
    ATTRIBUTES_LOW_POSITION,
    BATCH_LENGTH,
    BATCH_LENGTH_POSITION,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    MAGIC_POSITION,
    Compression,
)

BATCHES_ONLY_PRODUCE_VERSION: Final = 3
"""Older producers may send message sets (KIP-98)."""
ZSTD_PRODUCE_VERSION: Final = 7
"""Older producers may not send it (KIP-110)."""
_MESSAGE_LENGTH_MIN: Final = 14
"""Of a message in format 0, behind offset and length. Source: LegacyRecord.RECORD_OVERHEAD_V0."""


def check_produce_version(buffer: Buffer | None, version: int) -> int:
    """Refuse what a Produce request of ``version`` may not carry; cheap, before ``prepare_append``.

    Returns:
        How many leading bytes to append: a cut batch behind the only one is left out.

    Raises:
        KafkaError: INVALID_RECORD without a whole batch, with two, or for old formats from version
            3 on; UNSUPPORTED_COMPRESSION_TYPE for zstd in versions 3 to 6; CORRUPT_MESSAGE.
    Source: ProduceRequest.validateRecords, ByteBufferLogInputStream.
    """
    if buffer is None or len(buffer) == 0:
        raise _invalid("a produce request without a record batch")
    if version < BATCHES_ONLY_PRODUCE_VERSION:
        return len(buffer)
    size_bytes = _whole_batch_size_bytes(buffer, 0)
    if size_bytes is None:
        raise _invalid(f"a record batch that is cut, at {len(buffer)} bytes")
    if buffer[MAGIC_POSITION] < MAGIC:
        raise _invalid(f"record format {buffer[MAGIC_POSITION]}, from version 3 on")
    codec = buffer[ATTRIBUTES_LOW_POSITION] & 7
    if version < ZSTD_PRODUCE_VERSION and codec == Compression.ZSTD:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"zstd in a produce request v{version}"
        )
    if _whole_batch_size_bytes(buffer, size_bytes) is not None:
        raise _invalid("more than one record batch for a partition")
    return size_bytes


def _whole_batch_size_bytes(buffer: Buffer, position: int) -> int | None:
    """Return the size of the batch or message there; None when it is cut.

    Raises:
        KafkaError: CORRUPT_MESSAGE for a length or a format that nothing has.
    """
    left_bytes = len(buffer) - position
    if left_bytes < LOG_OVERHEAD_BYTES:
        return None
    (length,) = BATCH_LENGTH.unpack_from(buffer, position + BATCH_LENGTH_POSITION)
    if length < _MESSAGE_LENGTH_MIN:
        text = f"batch length {length}, the least of a message is {_MESSAGE_LENGTH_MIN}"
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, text)
    if left_bytes <= MAGIC_POSITION:
        return None
    magic = buffer[position + MAGIC_POSITION]
    if magic > MAGIC:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"record format {magic}, the last is {MAGIC}")
    size_bytes = LOG_OVERHEAD_BYTES + length
    return size_bytes if size_bytes <= left_bytes else None


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, message)
