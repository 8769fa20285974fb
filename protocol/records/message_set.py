"""Message sets, the record formats 0 and 1: entries read without copying, wrappers opened.

An entry is one message. A compressed message is a wrapper: its value is a message set, whose
offsets are absolute in format 0 and relative in format 1, and its own offset is that of the last
message inside. Format 2 is in `protocol.records.batch`; builders are in `build_message_set`.

Source: LegacyRecord.java, AbstractLegacyRecordBatch.java.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple
from zlib import crc32

from protocol.errors import Malformed
from protocol.ids import NO_TIMESTAMP
from protocol.ports import Buffer
from protocol.records.batch import (
    COMPRESSION_MASK,
    LOG_OVERHEAD_BYTES,
    MAGIC_POSITION,
    TIMESTAMP_TYPE_BIT,
    Compression,
    UnsupportedMagic,
)
from protocol.records.compression import OUTPUT_BYTES_MAX
from protocol.records.records import RecordView, wrapped_int64
from protocol.records.steps import CodecWork, Steps, at_once, decompress_in_steps

OLD_MAGICS: Final = (0, 1)
ENTRY_OVERHEAD_BYTES: Final = (26, 34)
"""By magic: what a message has around its key and value, offset and length included."""

_HEADER_V0: Final = Struct(">qiIbb")
_HEADER_V1: Final = Struct(">qiIbbq")
_OFFSET_AND_LENGTH: Final = Struct(">qi")
FIELD_LENGTH: Final = Struct(">i")
_SUMMED_BEFORE_BYTES_MIN: Final = 1024 * 1024
"""The sums of longer messages in a wrapper are checked when it is opened."""
_WALKED_OF_A_STEP: Final = 4096
"""Messages whose lengths are looked at: a millisecond."""


class InvalidMessageSet(Malformed):
    """Its bytes are whole and its sums right, but it breaks a rule of its format."""


class MessageHeader(NamedTuple):
    """The fields of one message before its key, in wire order."""

    offset: int
    """Of a wrapper: that of the last message inside."""
    message_length: int
    """Bytes after this field."""
    crc: int
    magic: int
    attributes: int
    timestamp: int
    """-1 in format 0, which has none."""

    @property
    def size_bytes(self) -> int:
        """The whole entry, offset and length included."""
        return self.message_length + LOG_OVERHEAD_BYTES

    @property
    def compression(self) -> Compression:
        """The codec of a wrapper's value; NONE for a message that is none.

        Raises:
            InvalidMessageSet: the number stands for no codec that these formats have.
        """
        code = self.attributes & COMPRESSION_MASK
        if code > Compression.LZ4:
            raise InvalidMessageSet(f"compression code {code} in record format {self.magic}")
        return Compression(code)

    @property
    def is_log_append_time(self) -> bool:
        """Whether the broker set the time; on a wrapper it holds for every message inside."""
        return self.magic > 0 and bool(self.attributes & TIMESTAMP_TYPE_BIT)


def read_message_header(buffer: Buffer, position: int = 0) -> MessageHeader:
    """Read the header at ``position``; key and value need not be in ``buffer``.

    Raises:
        Malformed: it is cut, or its length is too small for a message.
        UnsupportedMagic: neither format 0 nor 1.
    """
    left = len(buffer) - position
    if left < _HEADER_V0.size:
        raise Malformed(f"message header in {left} bytes")
    magic = buffer[position + MAGIC_POSITION]
    if magic == 0:
        fields = _HEADER_V0.unpack_from(buffer, position)
        header = MessageHeader._make((*fields, NO_TIMESTAMP))
    elif magic != 1:
        raise UnsupportedMagic(f"record format {magic} in a message set")
    elif left < _HEADER_V1.size:
        raise Malformed(f"message header of {_HEADER_V1.size} bytes in {left} bytes")
    else:
        header = MessageHeader._make(_HEADER_V1.unpack_from(buffer, position))
    if header.size_bytes < ENTRY_OVERHEAD_BYTES[magic]:
        raise Malformed(f"message of {header.message_length} bytes in format {magic}")
    return header


def iterate_messages(buffer: Buffer, position: int = 0) -> Iterator[tuple[int, MessageHeader]]:
    """Give (position, header) of each entry that lies whole in ``buffer``; a cut tail ends it.

    Raises:
        Malformed: a length that no message can have.
        UnsupportedMagic: an entry of another format; those before it were given.
    """
    end = len(buffer)
    while end - position >= LOG_OVERHEAD_BYTES:
        length = _OFFSET_AND_LENGTH.unpack_from(buffer, position)[1]
        if position + LOG_OVERHEAD_BYTES + length > end:
            return
        header = read_message_header(buffer, position)
        yield position, header
        position += header.message_length + LOG_OVERHEAD_BYTES


def check_message_crc(buffer: Buffer, position: int, header: MessageHeader) -> bool:
    """Tell whether the entry lies whole in ``buffer`` and its sum (CRC-32) is right."""
    end = position + header.message_length + LOG_OVERHEAD_BYTES
    if end > len(buffer):
        return False
    return crc32(memoryview(buffer)[position + MAGIC_POSITION : end]) == header.crc


def iterate_message_views(
    buffer: Buffer,
    position: int,
    header: MessageHeader,
    *,
    output_bytes_max: int = OUTPUT_BYTES_MAX,
) -> Iterator[RecordView]:
    """Give the message at ``position``, or those inside it when it is a wrapper; copies nothing.

    The sums of messages in a wrapper are checked here; that of the entry itself is the caller's.

    Raises:
        InvalidMessageSet: an empty or doubly compressed wrapper, or one with wrong offsets.
        Malformed: fields that do not fit, or a wrapper that cannot be decompressed to at most
            ``output_bytes_max``.
    """
    steps = opened_in_steps(buffer, position, header, output_bytes_max=output_bytes_max)
    yield from at_once(steps)


def opened_in_steps(
    buffer: Buffer, position: int, header: MessageHeader, *, output_bytes_max: int
) -> Steps[Iterator[RecordView]]:
    """Return what ``iterate_message_views`` gives; a wrapper is open by then, its records unread.

    Raises:
        Malformed: as ``iterate_message_views``; what it returned may raise it, too.
    """
    message = memoryview(buffer)[position : position + header.size_bytes]
    key, value = _key_and_value(message, header.magic)
    codec = header.compression
    if codec is Compression.NONE:
        time_ms = header.timestamp
        return iter([RecordView(header.offset, time_ms, time_ms, key, value)])
    if value is None:
        raise InvalidMessageSet(f"a wrapper of format {header.magic} without a value")
    plain = yield from decompress_in_steps(
        codec, value, magic=header.magic, output_bytes_max=output_bytes_max
    )
    data = memoryview(plain)
    base_offset = yield from _base_offset_in_steps(data, header)
    return _inner_views(data, header, base_offset)


def _inner_views(
    data: memoryview, wrapper: MessageHeader, base_offset: int
) -> Iterator[RecordView]:
    append_time_ms = wrapper.timestamp if wrapper.is_log_append_time else None
    for position, header in iterate_messages(data):
        if header.magic != wrapper.magic:
            raise InvalidMessageSet(f"format {header.magic} in a wrapper of {wrapper.magic}")
        if header.compression is not Compression.NONE:
            raise InvalidMessageSet("a compressed message inside a compressed one")
        is_summed = header.message_length >= _SUMMED_BEFORE_BYTES_MIN
        if not is_summed and not check_message_crc(data, position, header):
            raise _wrong_sum(header)
        key, value = _key_and_value(data[position : position + header.size_bytes], header.magic)
        time_ms = header.timestamp if append_time_ms is None else append_time_ms
        offset = wrapped_int64(base_offset + header.offset)
        yield RecordView(offset, time_ms, header.timestamp, key, value)


def _check_long_sum(data: memoryview, position: int) -> Steps[None]:
    """Check the sum of a message that is so long that it takes longer than a step."""
    header = read_message_header(data, position)

    def call() -> bool:
        return check_message_crc(data, position, header)

    if not (yield CodecWork(call, is_large=False)):
        raise _wrong_sum(header)


def _wrong_sum(header: MessageHeader) -> Malformed:
    return Malformed(f"message {header.offset} of a wrapper fails its CRC")


def _base_offset_in_steps(data: memoryview, wrapper: MessageHeader) -> Steps[int]:
    """Return what to add to the offsets inside; walks the set, because the last one tells.

    The outer offset is 0 where certain versions of librdkafka produced it.
    Source: AbstractLegacyRecordBatch.DeepRecordsIterator.
    """
    last_offset: int | None = None
    count = position = 0
    while len(data) - position >= LOG_OVERHEAD_BYTES:
        offset, length = _OFFSET_AND_LENGTH.unpack_from(data, position)
        start, position = position, position + LOG_OVERHEAD_BYTES + max(length, 0)
        if position > len(data):
            break
        if length >= _SUMMED_BEFORE_BYTES_MIN:
            yield from _check_long_sum(data, start)
        last_offset = offset
        count += 1
        if count % _WALKED_OF_A_STEP == 0:
            yield
    if last_offset is None:
        raise InvalidMessageSet("a wrapper without a message")
    if wrapper.magic == 0 or wrapper.offset == 0:
        return 0
    if wrapper.offset < last_offset:
        raise InvalidMessageSet(f"a wrapper at offset {wrapper.offset} ends at {last_offset}")
    return wrapped_int64(wrapper.offset - last_offset)


def _key_and_value(message: memoryview, magic: int) -> tuple[memoryview | None, memoryview | None]:
    """Cut both out of a whole entry; bytes behind the value mean nothing, as in Kafka."""
    key, at = _read_field(message, _HEADER_V1.size if magic else _HEADER_V0.size)
    value, _ = _read_field(message, at)
    return key, value


def _read_field(message: memoryview, at: int) -> tuple[memoryview | None, int]:
    left = len(message) - at - FIELD_LENGTH.size
    if left < 0:
        raise Malformed("a message is cut inside the length of a field")
    length: int = FIELD_LENGTH.unpack_from(message, at)[0]
    at += FIELD_LENGTH.size
    if length < 0:
        return None, at
    if length > left:
        raise Malformed(f"field of {length} bytes in {left} bytes")
    return message[at : at + length], at + length
