"""Formats 0 and 1: entries, wrappers, their offsets and sums; kafka-python writes, we read."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import pytest
from kafka.record.legacy_records import LegacyRecordBatchBuilder

from protocol.errors import Malformed
from protocol.records.batch import Compression, UnsupportedMagic
from protocol.records.build import NewRecord, build_batch
from protocol.records.build_message_set import MessageSetOptions, build_message_set
from protocol.records.compression import compress
from protocol.records.message_set import (
    ENTRY_OVERHEAD_BYTES,
    InvalidMessageSet,
    MessageHeader,
    check_message_crc,
    iterate_message_views,
    iterate_messages,
    read_message_header,
)
from protocol.records.records import RecordView

OLD_CODECS = (Compression.NONE, Compression.GZIP, Compression.SNAPPY, Compression.LZ4)
ABC = [NewRecord(b"a", b"k", 5), NewRecord(None, None, 9), NewRecord(b"", b"", 7)]


def message_set(
    magic: int,
    codec: Compression = Compression.NONE,
    *,
    base_offset: int = 0,
    log_append_time_ms: int | None = None,
) -> bytearray:
    options = MessageSetOptions(
        magic=magic,
        base_offset=base_offset,
        compression=codec,
        log_append_time_ms=log_append_time_ms,
    )
    return build_message_set(ABC, options)


def summed(entry: bytearray) -> bytearray:
    """Put the length and the sum right after an edit of the only entry."""
    entry[8:12] = (len(entry) - 12).to_bytes(4, "big")
    entry[12:16] = crc32(entry[16:]).to_bytes(4, "big")
    return entry


def wrap(inner: bytes | None, *, magic: int = 1, offset: int = 2, codec: int = 1) -> bytearray:
    """Write a wrapper by hand; ``inner`` is compressed with gzip or given as it is."""
    value = inner
    if inner is not None and codec == Compression.GZIP:
        value = bytes(compress(Compression.GZIP, inner))
    entry = build_message_set([NewRecord(value)], MessageSetOptions(magic=magic))
    entry[17] = codec
    entry[:8] = offset.to_bytes(8, "big", signed=True)
    return summed(entry)


def views(data: bytes | bytearray) -> list[RecordView]:
    return [
        view
        for position, header in iterate_messages(data)
        for view in iterate_message_views(data, position, header)
    ]


@pytest.mark.parametrize("codec", OLD_CODECS)
@pytest.mark.parametrize("magic", [0, 1])
def test_messages_have_their_offsets_and_times(magic: int, codec: Compression) -> None:
    found = views(message_set(magic, codec, base_offset=40))
    assert [view.offset for view in found] == [40, 41, 42]
    assert [view.timestamp_ms for view in found] == ([5, 9, 7] if magic else [-1, -1, -1])
    assert [(view.key, view.value) for view in found] == [(b"k", b"a"), (None, None), (b"", b"")]
    assert all(view.headers == b"" for view in found)


@pytest.mark.parametrize("codec", OLD_CODECS)
def test_the_time_of_a_wrapper_holds_for_all_when_the_broker_set_it(codec: Compression) -> None:
    data = message_set(1, codec, log_append_time_ms=1_000)
    assert all(header.is_log_append_time for _, header in iterate_messages(data))
    assert [view.timestamp_ms for view in views(data)] == [1_000] * 3


def test_format_0_has_no_times_whatever_its_attributes_say() -> None:
    data = message_set(0)
    data[17] |= 8
    assert not read_message_header(data).is_log_append_time


def test_a_wrapper_is_named_by_its_last_message() -> None:
    for magic in (0, 1):
        [(_, header)] = iterate_messages(message_set(magic, Compression.GZIP, base_offset=40))
        assert header.offset == 42


@pytest.mark.parametrize(("codec", "name"), [(0, None), (1, "gzip")])
@pytest.mark.parametrize("magic", [0, 1])
def test_what_kafka_python_writes_is_read(magic: int, codec: int, name: str | None) -> None:
    builder: Any = LegacyRecordBatchBuilder(magic, codec, 9_999_999)
    for offset, record in enumerate(ABC):
        builder.append(offset, record.timestamp_ms, record.key, record.value)
    data = bytes(builder.build())
    found = list(iterate_messages(data))
    assert len(found) == (1 if name else 3)
    for position, header in found:
        assert check_message_crc(data, position, header)
    read = views(data)
    # Its wrappers are at offset 0, as those of some versions of librdkafka.
    assert [view.offset for view in read] == [0, 1, 2]
    assert [(view.key, view.value) for view in read] == [(one.key, one.value) for one in ABC]
    assert [view.timestamp_ms for view in read] == ([5, 9, 7] if magic else [-1] * 3)


def test_a_cut_tail_is_left_out() -> None:
    for magic in (0, 1):
        data = message_set(magic)
        ends = [position + header.size_bytes for position, header in iterate_messages(data)]
        for cut in range(len(data)):
            found = [p + h.size_bytes for p, h in iterate_messages(data[:cut])]
            assert found == [end for end in ends if end <= cut]


def test_key_and_value_need_not_be_there_to_read_the_header() -> None:
    for magic, size in ((0, 18), (1, 26)):
        data = message_set(magic)
        assert read_message_header(data[:size]) == read_message_header(data)
        for cut in range(size):
            with pytest.raises(Malformed):
                read_message_header(data[:cut])


def test_any_flipped_bit_behind_the_sum_is_noticed() -> None:
    data = message_set(1)
    header = read_message_header(data)
    for position in range(16, header.size_bytes):
        data[position] ^= 16
        assert not check_message_crc(data, 0, header)
        data[position] ^= 16
    assert check_message_crc(data, 0, header)
    assert not check_message_crc(data[: header.size_bytes - 1], 0, header)


def test_a_message_shorter_than_its_fields_is_refused() -> None:
    for magic in (0, 1):
        data = message_set(magic)
        least = ENTRY_OVERHEAD_BYTES[magic] - 12
        data[8:12] = (least - 1).to_bytes(4, "big")
        with pytest.raises(Malformed, match=str(least - 1)):
            read_message_header(data)


@pytest.mark.parametrize("position", [18, 22])
@pytest.mark.parametrize("length", [100, 2**31 - 1])
def test_a_field_longer_than_its_message_is_refused(position: int, length: int) -> None:
    data = build_message_set([NewRecord(b"", b"")], MessageSetOptions(magic=0))
    data[position : position + 4] = length.to_bytes(4, "big")
    with pytest.raises(Malformed, match=str(length)):
        views(summed(data))


def test_a_key_that_leaves_no_room_for_a_value_is_refused() -> None:
    data = build_message_set([NewRecord(b"", b"")], MessageSetOptions(magic=0))
    data[18:22] = (3).to_bytes(4, "big")
    with pytest.raises(Malformed, match="cut inside the length"):
        views(summed(data))


def test_a_negative_length_is_null_and_bytes_behind_the_value_mean_nothing() -> None:
    data = build_message_set([NewRecord(b"value", b"")], MessageSetOptions(magic=0))
    data[18:22] = (-7).to_bytes(4, "big", signed=True)
    [view] = views(summed(data + b"more"))
    assert (view.key, view.value) == (None, b"value")


def test_a_batch_is_no_message() -> None:
    with pytest.raises(UnsupportedMagic):
        read_message_header(build_batch(ABC))


@pytest.mark.parametrize("code", [4, 5, 6, 7])
def test_codecs_of_later_formats_are_refused(code: int) -> None:
    header = MessageHeader(0, 22, 0, 1, code, 0)
    with pytest.raises(InvalidMessageSet, match=f"code {code}"):
        _ = header.compression


def test_a_wrapper_needs_a_value_with_messages() -> None:
    with pytest.raises(InvalidMessageSet, match="without a value"):
        views(wrap(None))
    with pytest.raises(InvalidMessageSet, match="without a message"):
        views(wrap(b""))
    with pytest.raises(InvalidMessageSet, match="without a message"):
        views(wrap(bytes(message_set(1))[:30]))


def test_a_wrapper_in_a_wrapper_is_refused() -> None:
    for inner in (message_set(1, Compression.GZIP), message_set(1, Compression.SNAPPY)):
        with pytest.raises(InvalidMessageSet, match="inside a compressed"):
            views(wrap(bytes(inner)))


def test_a_wrapper_holds_messages_of_its_own_format() -> None:
    with pytest.raises(InvalidMessageSet, match="format 0 in a wrapper of 1"):
        views(wrap(bytes(message_set(0))))
    with pytest.raises(UnsupportedMagic):
        views(wrap(bytes(build_batch(ABC))))


def test_a_wrong_sum_inside_a_wrapper_is_refused() -> None:
    inner = message_set(1)
    inner[-1] ^= 1
    with pytest.raises(Malformed, match="CRC"):
        views(wrap(bytes(inner)))


def test_a_cut_message_at_the_end_of_a_wrapper_is_left_out() -> None:
    inner = bytes(message_set(1))
    assert [view.offset for view in views(wrap(inner[:-3], offset=1))] == [0, 1]


def test_relative_offsets_are_counted_back_from_the_wrapper() -> None:
    inner = bytes(message_set(1))
    assert [view.offset for view in views(wrap(inner, offset=1_002))] == [1_000, 1_001, 1_002]
    assert [view.offset for view in views(wrap(inner, offset=0))] == [0, 1, 2]
    with pytest.raises(InvalidMessageSet, match="ends at 2"):
        views(wrap(inner, offset=1))


def test_absolute_offsets_are_taken_as_they_are() -> None:
    inner = bytes(message_set(0, base_offset=70))
    assert [view.offset for view in views(wrap(inner, magic=0, offset=5))] == [70, 71, 72]


def test_decompression_stops_at_its_limit() -> None:
    data = build_message_set(
        [NewRecord(bytes(100_000))], MessageSetOptions(magic=1, compression=Compression.GZIP)
    )
    header = read_message_header(data)
    with pytest.raises(Malformed):
        list(iterate_message_views(data, 0, header, output_bytes_max=50_000))


def test_an_inner_length_that_no_message_has_ends_in_an_error_not_in_a_loop() -> None:
    for length in (-(2**31), -1, 0, 5):
        inner = message_set(1)
        inner[8:12] = length.to_bytes(4, "big", signed=True)
        with pytest.raises(Malformed):
            views(wrap(bytes(inner), offset=2**62))
