"""RecordBatch v2: a view of the 61-byte header, its CRC-32C, and stamping in place.

It never copies, decompresses or looks at records, and it does not read the older message sets.

Source: DefaultRecordBatch.java.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

from crc32c import crc32c

from protocol.errors import Malformed
from protocol.ports import Buffer

HEADER_SIZE_BYTES: Final = 61
MAGIC: Final = 2
MAGIC_POSITION: Final = 16
"""The same in all three formats."""
LOG_OVERHEAD_BYTES: Final = 12
"""Base offset and length: the bytes that ``batch_length`` does not count."""
BATCH_LENGTH_MIN: Final = HEADER_SIZE_BYTES - LOG_OVERHEAD_BYTES

COMPRESSION_MASK: Final = 0b0000_0111
TIMESTAMP_TYPE_BIT: Final = 0b0000_1000
TRANSACTIONAL_BIT: Final = 0b0001_0000
CONTROL_BIT: Final = 0b0010_0000
DELETE_HORIZON_BIT: Final = 0b0100_0000

_HEADER: Final = Struct(">qiibIhiqqqhii")
_OFFSET_AND_LENGTH: Final = Struct(">qi")
_OFFSET: Final = Struct(">q")
BATCH_LENGTH: Final = Struct(">i")
BATCH_LENGTH_POSITION: Final = 8
_EPOCH: Final = Struct(">i")
CRC: Final = Struct(">I")
_ATTRIBUTES: Final = Struct(">h")
_LEADER_EPOCH_POSITION: Final = 12
CRC_POSITION: Final = 17
_ATTRIBUTES_POSITION: Final = 21
ATTRIBUTES_LOW_POSITION: Final = 22
"""Of the byte with the codec and the bits for timestamps and transactions."""
_MAX_TIMESTAMP_POSITION: Final = 35
SEQUENCE_COUNT: Final = 2**31


class Compression(IntEnum):
    """The codecs by their number in the attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class UnsupportedMagic(Malformed):
    """A message set of format 0 or 1 (or of one that nobody knows) where a v2 batch is required."""


class BatchHeader(NamedTuple):
    """The fields of one batch header, in wire order."""

    base_offset: int
    batch_length: int
    """Bytes after this field."""
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def size_bytes(self) -> int:
        """The whole batch, header included."""
        return self.batch_length + LOG_OVERHEAD_BYTES

    @property
    def last_offset(self) -> int:
        """The offset of the last record, also when compaction removed that record."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """The offset after the batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record; -1 without one. Sequences wrap from 2**31 - 1 to 0."""
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset_delta) % SEQUENCE_COUNT

    @property
    def compression(self) -> Compression:
        """The codec of the records.

        Raises:
            Malformed: the number stands for no codec.
        """
        code = self.attributes & COMPRESSION_MASK
        if code > Compression.ZSTD:
            raise Malformed(f"compression code {code}, known are 0 to {Compression.ZSTD.value}")
        return Compression(code)

    @property
    def is_log_append_time(self) -> bool:
        """Whether ``max_timestamp`` holds for every record."""
        return bool(self.attributes & TIMESTAMP_TYPE_BIT)

    @property
    def is_transactional(self) -> bool:
        """Whether the batch is part of a transaction."""
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        """Whether the records are markers that consumers do not see."""
        return bool(self.attributes & CONTROL_BIT)

    @property
    def has_producer_id(self) -> bool:
        """Whether an idempotent or transactional producer made it."""
        return self.producer_id >= 0

    @property
    def delete_horizon_ms(self) -> int | None:
        """When compaction may remove tombstones; ``base_timestamp`` holds it then."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_BIT else None


def read_batch_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """Read the header at ``position``; the records behind it need not be in ``buffer``.

    Raises:
        Malformed: fewer than 61 bytes there, or the length is too small for a batch.
        UnsupportedMagic: not format 2.
    """
    if len(buffer) - position < HEADER_SIZE_BYTES:
        _refuse_short(buffer, position)
    header = BatchHeader._make(_HEADER.unpack_from(buffer, position))
    if header.magic != MAGIC:
        raise UnsupportedMagic(f"record format {header.magic}, this reader takes {MAGIC}")
    if header.batch_length < BATCH_LENGTH_MIN:
        raise Malformed(f"batch length {header.batch_length}, the least is {BATCH_LENGTH_MIN}")
    return header


def _refuse_short(buffer: Buffer, position: int) -> None:
    size_bytes = len(buffer) - position
    if size_bytes > MAGIC_POSITION and buffer[position + MAGIC_POSITION] != MAGIC:
        raise UnsupportedMagic(f"record format {buffer[position + MAGIC_POSITION]}")
    raise Malformed(f"batch header of {HEADER_SIZE_BYTES} bytes in {size_bytes} bytes")


def iterate_batches(buffer: Buffer, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Give (position, header) of each batch that lies whole in ``buffer``; a cut tail ends it.

    Raises:
        Malformed: a length that no batch can have.
        UnsupportedMagic: a batch of another format; those before it were given.
    """
    end = len(buffer)
    while end - position >= LOG_OVERHEAD_BYTES:
        length = _OFFSET_AND_LENGTH.unpack_from(buffer, position)[1]
        if position + LOG_OVERHEAD_BYTES + length > end:
            return
        header = read_batch_header(buffer, position)
        yield position, header
        position += header.batch_length + LOG_OVERHEAD_BYTES


def whole_batches_size_bytes(buffer: Buffer) -> int:
    """Return how many leading bytes of ``buffer`` are whole batches; looks only at lengths.

    Raises:
        Malformed: a negative length.
    """
    position, end = 0, len(buffer)
    while end - position >= LOG_OVERHEAD_BYTES:
        length = _OFFSET_AND_LENGTH.unpack_from(buffer, position)[1]
        if length < 0:
            raise Malformed(f"batch length {length}")
        if position + LOG_OVERHEAD_BYTES + length > end:
            break
        position += LOG_OVERHEAD_BYTES + length
    return position


def compute_crc(buffer: Buffer, position: int, size_bytes: int) -> int:
    """Return the CRC-32C of the batch of ``size_bytes`` at ``position``: attributes to its end."""
    return crc32c(memoryview(buffer)[position + _ATTRIBUTES_POSITION : position + size_bytes])


def check_crc(buffer: Buffer, position: int, header: BatchHeader) -> bool:
    """Tell whether the batch lies whole in ``buffer`` and its sum is right."""
    size_bytes = header.batch_length + LOG_OVERHEAD_BYTES
    if position + size_bytes > len(buffer):
        return False
    return compute_crc(buffer, position, size_bytes) == header.crc


def stamp(
    buffer: bytearray | memoryview, position: int, *, base_offset: int, leader_epoch: int
) -> None:
    """Write offset and leader epoch in place, as a leader does on append; neither is in the CRC."""
    _OFFSET.pack_into(buffer, position, base_offset)
    _EPOCH.pack_into(buffer, position + _LEADER_EPOCH_POSITION, leader_epoch)


def stamp_log_append_time(
    buffer: bytearray | memoryview, position: int, header: BatchHeader, timestamp_ms: int
) -> None:
    """Set timestamp type and max timestamp in place and sum the batch again.

    Records keep their deltas; readers take ``max_timestamp`` for all of them.
    Source: DefaultRecordBatch.java setMaxTimestamp.
    """
    attributes = header.attributes | TIMESTAMP_TYPE_BIT
    _ATTRIBUTES.pack_into(buffer, position + _ATTRIBUTES_POSITION, attributes)
    _OFFSET.pack_into(buffer, position + _MAX_TIMESTAMP_POSITION, timestamp_ms)
    crc = compute_crc(buffer, position, header.size_bytes)
    CRC.pack_into(buffer, position + CRC_POSITION, crc)


def pack_header(header: BatchHeader) -> bytes:
    """Return the 61 bytes of ``header``."""
    return _HEADER.pack(*header)
