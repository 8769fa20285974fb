"""Message sets of old producers as batches of format 2; kafka-python writes them and reads them."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record.legacy_records import LegacyRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords

from protocol.errors import Malformed
from protocol.records.batch import Compression, check_crc, read_batch_header
from protocol.records.build import NewRecord, build_batch
from protocol.records.build_message_set import MessageSetOptions, build_message_set
from protocol.records.compression import compress
from protocol.records.down_convert import down_convert
from protocol.records.message_set import InvalidMessageSet, iterate_messages
from protocol.records.records import iterate_all_records
from protocol.records.steps import (
    BYTES_OF_A_STEP,
    OUTPUT_BYTES_SHORT,
    PACKED_BYTES_SHORT,
    RECORDS_OF_A_STEP,
    at_once,
)
from protocol.records.up_convert import up_convert, up_convert_in_steps
from tests.protocol.records.stepped import gone_through

OLD_CODECS = (Compression.NONE, Compression.GZIP, Compression.SNAPPY, Compression.LZ4)
NULLABLE = st.none() | st.binary(max_size=10)
RECORDS = st.lists(
    st.builds(NewRecord, value=NULLABLE, key=NULLABLE, timestamp_ms=st.integers(-1, 2**63 - 1)),
    min_size=1,
    max_size=6,
)
ABC = [NewRecord(b"a", b"k", 5), NewRecord(None, b"l", 9), NewRecord(b"c", b"", 7)]


def message_set(magic: int, codec: Compression = Compression.NONE, **options: Any) -> bytearray:
    return build_message_set(ABC, MessageSetOptions(magic=magic, compression=codec, **options))


@settings(deadline=None)
@given(RECORDS, st.sampled_from(OLD_CODECS), st.sampled_from([0, 1]), st.integers(0, 2**62))
def test_one_batch_has_all_the_records(
    records: list[NewRecord], codec: Compression, magic: int, base_offset: int
) -> None:
    options = MessageSetOptions(magic=magic, base_offset=base_offset, compression=codec)
    data = build_message_set(records, options)
    batch = up_convert(data)
    header = read_batch_header(batch)
    assert header.size_bytes == len(batch)
    assert check_crc(batch, 0, header)
    assert (header.base_offset, header.last_offset) == (0, len(records) - 1)
    assert header.records_count == len(records)
    assert header.attributes == codec
    times = [record.timestamp_ms if magic else -1 for record in records]
    assert (header.base_timestamp, header.max_timestamp) == (times[0], max(times))
    found = list(iterate_all_records(batch))
    assert [(one.key, one.value) for one in found] == [(one.key, one.value) for one in records]
    assert [one.timestamp_ms for one in found] == times
    assert all(one.headers == () and one.sequence == -1 for one in found)
    if base_offset == 0:
        # Behind it only what fills up to the size of the batch.
        assert b"".join(down_convert([batch], magic, fetch_offset=0)).startswith(data)


@pytest.mark.parametrize("codec", [0, 1])
@pytest.mark.parametrize("magic", [0, 1])
def test_kafka_python_reads_again_what_it_wrote(magic: int, codec: int) -> None:
    builder: Any = LegacyRecordBatchBuilder(magic, codec, 9_999_999)
    for offset in range(5):
        builder.append(offset, 1_000 + offset, b"key", b"%d" % offset)
    batches: Any = MemoryRecords(bytes(up_convert(bytes(builder.build()))))
    batch = batches.next_batch()
    assert batches.next_batch() is None
    assert (batch.magic, batch.compression_type, batch.producer_id) == (2, codec, -1)
    assert batch.validate_crc()
    found = list(batch)
    assert [record.value for record in found] == [b"0", b"1", b"2", b"3", b"4"]
    times = [1_000, 1_001, 1_002, 1_003, 1_004]
    assert [record.timestamp for record in found] == (times if magic else [-1] * 5)


def test_offsets_of_the_producer_do_not_count() -> None:
    records = [NewRecord(b"a", offset_delta=7), NewRecord(b"b", offset_delta=7), NewRecord(b"c")]
    for codec in OLD_CODECS:
        options = MessageSetOptions(magic=1, base_offset=99, compression=codec)
        batch = up_convert(build_message_set(records, options))
        assert [one.offset for one in iterate_all_records(batch)] == [0, 1, 2]


def test_the_time_of_a_wrapper_counts_when_it_says_so() -> None:
    data = message_set(1, Compression.GZIP, log_append_time_ms=800)
    header = read_batch_header(up_convert(data))
    assert (header.base_timestamp, header.max_timestamp) == (800, 800)
    assert not header.is_log_append_time


def test_a_cut_message_at_the_end_is_left_out() -> None:
    data = message_set(1)
    [(_, first), (second_at, second), _] = iterate_messages(data)
    whole = second_at + second.size_bytes
    for end in range(whole, len(data)):
        assert read_batch_header(up_convert(data[:end])).records_count == 2
    assert read_batch_header(up_convert(data[: first.size_bytes])).records_count == 1


@pytest.mark.parametrize("size", [0, 5, 11, 20])
def test_no_whole_message_is_refused(size: int) -> None:
    with pytest.raises(InvalidMessageSet, match="no whole message"):
        up_convert(message_set(0)[:size])


def test_a_wrapper_is_alone_in_its_set() -> None:
    packed, plain = message_set(1, Compression.GZIP), message_set(1)
    for data in (packed + packed, packed + plain, plain + packed):
        with pytest.raises(InvalidMessageSet, match="alone"):
            up_convert(data)


def test_a_set_has_one_format() -> None:
    for data in (message_set(0) + message_set(1), message_set(1) + build_batch(ABC)):
        with pytest.raises(InvalidMessageSet, match="behind format"):
            up_convert(data)


def test_a_wrong_sum_is_damage_not_a_broken_rule() -> None:
    data = message_set(0)
    data[20] ^= 1
    with pytest.raises(Malformed, match="CRC") as caught:
        up_convert(data)
    assert not isinstance(caught.value, InvalidMessageSet)


def test_times_before_all_time_are_refused() -> None:
    with pytest.raises(InvalidMessageSet, match="timestamp -2"):
        up_convert(
            build_message_set([NewRecord(b"a", timestamp_ms=-2)], MessageSetOptions(magic=1))
        )


def test_a_compacted_topic_wants_keys() -> None:
    data = build_message_set([*ABC, NewRecord(b"d")], MessageSetOptions(magic=1))
    assert read_batch_header(up_convert(data)).records_count == 4
    with pytest.raises(InvalidMessageSet, match="without a key"):
        up_convert(data, needs_keys=True)
    assert read_batch_header(up_convert(message_set(1), needs_keys=True)).records_count == 3


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
def test_a_long_set_is_converted_in_short_steps(codec: Compression) -> None:
    records = [NewRecord(b"v")] * (3 * RECORDS_OF_A_STEP + 1)
    data = build_message_set(records, MessageSetOptions(magic=0, compression=codec))
    batch, stepped = gone_through(up_convert_in_steps(data))
    assert batch == up_convert(data)
    assert stepped.steps == 3


def test_large_records_end_a_step_earlier() -> None:
    record = NewRecord(bytes(BYTES_OF_A_STEP // 2))
    data = build_message_set([record] * 5, MessageSetOptions(magic=1))
    assert gone_through(up_convert_in_steps(data))[1].steps == 2


def test_a_bomb_is_unpacked_summed_and_packed_elsewhere() -> None:
    record = NewRecord(bytes(BYTES_OF_A_STEP + 1))
    options = MessageSetOptions(magic=1, compression=Compression.GZIP)
    data = build_message_set([record], options)
    batch, stepped = gone_through(up_convert_in_steps(data))
    assert [work.is_large for work in stepped.works] == [True, False, False]
    assert [one.value for one in iterate_all_records(batch)] == [record.value]


def test_the_sum_of_a_long_message_in_a_wrapper_counts() -> None:
    inner = build_message_set([NewRecord(bytes(BYTES_OF_A_STEP))], MessageSetOptions(magic=1))
    inner[-1] ^= 1
    wrapper = NewRecord(bytes(compress(Compression.GZIP, inner)))
    data = build_message_set([wrapper], MessageSetOptions(magic=1))
    data[17] |= Compression.GZIP
    data[12:16] = crc32(data[16:]).to_bytes(4, "big")
    with pytest.raises(Malformed, match="of a wrapper fails its CRC"):
        up_convert(data)


def test_what_is_short_is_unpacked_and_packed_where_it_is() -> None:
    record = NewRecord(bytes(PACKED_BYTES_SHORT // 2))
    options = MessageSetOptions(magic=1, compression=Compression.GZIP)
    _, stepped = gone_through(up_convert_in_steps(build_message_set([record], options)))
    assert not stepped.works


def test_the_lengths_in_a_wrapper_are_walked_in_steps() -> None:
    records = [NewRecord(None)] * (OUTPUT_BYTES_SHORT // 34)
    options = MessageSetOptions(magic=1, base_offset=5, compression=Compression.GZIP)
    data = build_message_set(records, options)
    _, stepped = gone_through(up_convert_in_steps(data))
    walks = len(records) // 4096
    assert walks > 0
    assert stepped.steps == walks + len(records) // RECORDS_OF_A_STEP


def test_decompression_stops_at_its_limit() -> None:
    options = MessageSetOptions(magic=1, compression=Compression.GZIP)
    data = build_message_set([NewRecord(bytes(100_000))], options)
    with pytest.raises(Malformed):
        at_once(up_convert_in_steps(data, output_bytes_max=50_000))


@settings(deadline=None)
@given(st.data())
def test_damage_raises_malformed_and_nothing_else(data: st.DataObject) -> None:
    codec = data.draw(st.sampled_from(OLD_CODECS))
    damaged = message_set(data.draw(st.sampled_from([0, 1])), codec)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        up_convert(damaged)
    except Malformed:
        return
