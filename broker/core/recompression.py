"""`compression.type` of a topic: batches in another codec are packed anew before they are appended.

Records are unpacked as one block and never looked into; offsets, sequences and timestamps stay.
What is damaged or too large is left as it is, for `broker.core.append` to refuse.
Source: LogValidator.java, BrokerCompressionType.java, KIP-390.
"""

from __future__ import annotations

from typing import Final

from protocol.configs.topic import TopicConfig
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ports import Buffer
from protocol.records.batch import (
    ATTRIBUTES_LOW_POSITION,
    HEADER_SIZE_BYTES,
    MAGIC,
    MAGIC_POSITION,
    BatchHeader,
    Compression,
    check_crc,
    read_batch_header,
)
from protocol.records.build import seal_batch
from protocol.records.compression import OUTPUT_BYTES_MAX
from protocol.records.steps import Steps, compress_in_steps, decompress_in_steps

KEEPS: Final = "producer"
"""The `compression.type` that changes nothing."""
_CODECS: Final = {
    "uncompressed": Compression.NONE,
    "gzip": Compression.GZIP,
    "snappy": Compression.SNAPPY,
    "lz4": Compression.LZ4,
    "zstd": Compression.ZSTD,
}
_CODEC_MASK: Final = 7


def needs_recompression(records: Buffer, config: TopicConfig) -> bool:
    """Tell whether ``records``, a batch of format 2, are not in the topic's codec."""
    target = _CODECS.get(config.compression_type)
    return (
        target is not None
        and len(records) >= HEADER_SIZE_BYTES
        and records[MAGIC_POSITION] == MAGIC
        and records[ATTRIBUTES_LOW_POSITION] & _CODEC_MASK != target
    )


def recompress_in_steps(records: Buffer, config: TopicConfig) -> Steps[Buffer]:
    """Return the batch in the topic's codec: a new one, or the same when it is to be refused.

    Raises:
        KafkaError: INVALID_RECORD, the records cannot be unpacked.
    """
    try:
        header = read_batch_header(records)
        source = Compression(header.attributes & _CODEC_MASK)
    except (Malformed, ValueError):
        return records
    if header.size_bytes > config.max_message_bytes or not _is_whole(records, header):
        return records
    body = memoryview(records)[HEADER_SIZE_BYTES:]
    try:
        plain = yield from decompress_in_steps(source, body, output_bytes_max=OUTPUT_BYTES_MAX)
    except Malformed as error:
        raise KafkaError(ErrorCode.INVALID_RECORD, str(error)) from error
    target = _CODECS[config.compression_type]
    if target is Compression.NONE and len(plain) > config.max_message_bytes:
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"{len(plain)} bytes without compression, max.message.bytes is "
            f"{config.max_message_bytes}",
        )
    packed = yield from compress_in_steps(target, plain, level=_level(target, config))
    return seal_batch(
        header._replace(
            batch_length=header.batch_length - (len(records) - HEADER_SIZE_BYTES) + len(packed),
            attributes=header.attributes & ~_CODEC_MASK | target,
        ),
        packed,
    )


def _is_whole(records: Buffer, header: BatchHeader) -> bool:
    return header.size_bytes == len(records) and check_crc(records, 0, header)


def _level(codec: Compression, config: TopicConfig) -> int | None:
    match codec:
        case Compression.GZIP if config.compression_gzip_level >= 0:
            return config.compression_gzip_level
        case Compression.ZSTD:
            return config.compression_zstd_level
        case _:
            return None
