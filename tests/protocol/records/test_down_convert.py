"""Batches of format 2 as clients of formats 0 and 1 see them; kafka-python reads what we write."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record.memory_records import MemoryRecords

from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.records.batch import Compression, read_batch_header
from protocol.records.build import (
    BatchOptions,
    NewRecord,
    build_batch,
    build_batches,
    build_end_marker,
)
from protocol.records.build_message_set import MessageSetOptions, build_message_set
from protocol.records.down_convert import (
    down_convert,
    down_convert_in_steps,
)
from protocol.records.entries import iterate_entries, iterate_entry_views
from protocol.records.message_set import MessageHeader, iterate_message_views, iterate_messages
from protocol.records.records import ControlRecordType, RecordView
from protocol.records.steps import BYTES_OF_A_STEP, RECORDS_OF_A_STEP
from tests.protocol.records.stepped import gone_through

OLD_CODECS = (Compression.NONE, Compression.GZIP, Compression.SNAPPY, Compression.LZ4)
NULLABLE = st.none() | st.binary(max_size=10)
RECORDS = st.lists(
    st.builds(
        NewRecord,
        value=NULLABLE,
        key=NULLABLE,
        timestamp_ms=st.integers(-1, 2**63 - 1),
        headers=st.lists(st.tuples(st.text(max_size=4), NULLABLE), max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=6,
)
MARKER = bytes(
    build_end_marker(
        ControlRecordType.COMMIT,
        producer_id=1,
        producer_epoch=0,
        coordinator_epoch=0,
        timestamp_ms=0,
    )
)


def converted(*buffers: bytes | bytearray, magic: int = 1, fetch_offset: int = 0) -> bytes:
    return b"".join(down_convert(buffers, magic, fetch_offset=fetch_offset))


def views(data: bytes | bytearray) -> list[RecordView]:
    return [
        view
        for position, header in iterate_messages(data)
        for view in iterate_message_views(data, position, header)
    ]


def code_of(*buffers: bytes | bytearray, magic: int = 1) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        converted(*buffers, magic=magic)
    return caught.value.code


@settings(deadline=None)
@given(RECORDS, st.sampled_from(OLD_CODECS), st.sampled_from([0, 1]), st.integers(0, 2**62))
def test_offsets_keys_values_and_codecs_stay(
    records: list[NewRecord], codec: Compression, magic: int, base_offset: int
) -> None:
    batch = build_batch(records, BatchOptions(base_offset=base_offset, compression=codec))
    data = converted(batch, magic=magic, fetch_offset=base_offset)
    assert {h.compression for _, h in iterate_messages(data)} == {codec}
    assert {h.magic for _, h in iterate_messages(data)} == {magic}
    found = views(data)
    assert [(view.key, view.value) for view in found] == [(one.key, one.value) for one in records]
    assert [view.offset for view in found] == [base_offset + n for n in range(len(records))]
    times = [record.timestamp_ms if magic else -1 for record in records]
    assert [view.timestamp_ms for view in found] == times


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
@pytest.mark.parametrize("magic", [0, 1])
def test_kafka_python_reads_what_becomes_of_a_batch(magic: int, codec: Compression) -> None:
    records = [NewRecord(b"%d" % n, b"key", 100 + n, (("h", b"v"),)) for n in range(4)]
    options = BatchOptions(base_offset=50, compression=codec, leader_epoch=3)
    batches: Any = MemoryRecords(converted(build_batch(records, options), magic=magic))
    found: list[Any] = []
    while (batch := batches.next_batch()) is not None:
        assert batch.validate_crc()
        found += list(batch)
    assert [record.offset for record in found] == [50, 51, 52, 53]
    assert [record.value for record in found] == [b"0", b"1", b"2", b"3"]
    assert [record.timestamp for record in found] == ([100, 101, 102, 103] if magic else [None] * 4)


def test_what_format_1_says_goes_on_to_format_0() -> None:
    records = [NewRecord(b"a", b"k", 5), NewRecord(b"b", None, 6)]
    for codec in OLD_CODECS:
        old = MessageSetOptions(magic=0, base_offset=7, compression=codec)
        new = MessageSetOptions(magic=1, base_offset=7, compression=codec)
        data = converted(build_message_set(records, new), magic=0)
        assert data.startswith(build_message_set(records, old))


def test_what_is_old_enough_is_passed_on_as_it_is() -> None:
    for magic in (0, 1):
        data = bytes(build_message_set([NewRecord(b"a")], MessageSetOptions(magic=magic)))
        [piece] = down_convert([data], 1, fetch_offset=0)
        assert isinstance(piece, memoryview)
        assert piece.obj is data
        assert piece == data


@pytest.mark.parametrize("codec", OLD_CODECS)
def test_the_time_of_the_broker_stays_the_time_of_the_broker(codec: Compression) -> None:
    options = BatchOptions(compression=codec, log_append_time_ms=1_000)
    data = converted(build_batch([NewRecord(b"a", timestamp_ms=5), NewRecord(b"b")], options))
    assert all(header.is_log_append_time for _, header in iterate_messages(data))
    assert [view.timestamp_ms for view in views(data)] == [1_000, 1_000]
    older = converted(build_batch([*ab()], options), magic=0)
    assert views(converted(data, magic=0)) == views(older)


def ab() -> list[NewRecord]:
    return [NewRecord(b"a"), NewRecord(b"b")]


def test_records_before_the_fetch_offset_are_left_out_unless_they_are_compressed() -> None:
    records = [NewRecord(b"%d" % n) for n in range(5)]
    plain = build_batch(records, BatchOptions(base_offset=10))
    assert [view.offset for view in views(converted(plain, fetch_offset=13))] == [13, 14]
    packed = build_batch(records, BatchOptions(base_offset=10, compression=Compression.GZIP))
    found = views(converted(packed, fetch_offset=13))
    assert [view.offset for view in found] == [10, 11, 12, 13, 14]


def test_batches_that_end_before_the_fetch_offset_are_skipped() -> None:
    for codec in OLD_CODECS:
        early = build_batch(ab(), BatchOptions(compression=codec))
        late = build_batch(ab(), BatchOptions(base_offset=2, compression=codec))
        found = views(converted(early, late, fetch_offset=2))
        assert [view.offset for view in found] == [2, 3]


def test_control_batches_are_left_out() -> None:
    found = views(converted(build_batch(ab()), MARKER))
    assert [view.value for view in found] == [b"a", b"b"]


def test_an_empty_batch_that_compaction_left_is_left_out() -> None:
    empty = build_batch([], BatchOptions(last_offset_delta=9, compression=Compression.GZIP))
    after = build_batch(ab(), BatchOptions(base_offset=10))
    assert [view.offset for view in views(converted(empty, after))] == [10, 11]


def test_nothing_left_is_told_by_a_message_that_never_ends() -> None:
    data = converted(MARKER, MARKER)
    size_bytes = 2 * len(MARKER)
    assert data[:12].hex() == "ffffffffffffffff" + (size_bytes + 1).to_bytes(4, "big").hex()
    assert data[12:] == bytes(size_bytes - 12)
    batches: Any = MemoryRecords(data)
    assert batches.next_batch() is None
    assert batches.size_in_bytes() > 0


@pytest.mark.parametrize("value_bytes", [0, 1, 1_000, 300_000])
def test_what_is_shorter_than_its_batches_is_filled_up_with_a_message_that_never_ends(
    value_bytes: int,
) -> None:
    batch = build_batch([NewRecord(bytes(value_bytes))])
    message_bytes = 26 + value_bytes  # In format 0, without a key.
    left_bytes = len(batch) - message_bytes
    data = converted(batch, magic=0)
    assert len(data) == len(batch)
    said = (-1).to_bytes(8, "big", signed=True) + max(left_bytes + 1, 61).to_bytes(4, "big")
    assert data[message_bytes:] == (said + bytes(left_bytes))[:left_bytes]


def test_a_long_filling_is_sent_in_pieces_of_the_same_zeros() -> None:
    many = build_batch([NewRecord(bytes(1_000_000), b"k")])
    late = build_batch([NewRecord(b"late")], BatchOptions(base_offset=1))
    pieces = down_convert([many, late], 1, fetch_offset=1)
    assert max(map(len, pieces)) <= 128 * 1024
    assert sum(map(len, pieces)) == len(many) + len(late)


def test_nothing_stays_nothing() -> None:
    assert converted() == b""
    assert converted(b"", b"") == b""
    assert converted(MARKER[:-1]) == b""


@pytest.mark.parametrize("magic", [0, 1])
def test_zstd_cannot_be_told(magic: int) -> None:
    zstd = build_batch(ab(), BatchOptions(compression=Compression.ZSTD))
    assert code_of(zstd, magic=magic) == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert code_of(MARKER, zstd, magic=magic) == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


def test_what_comes_before_zstd_is_given_first() -> None:
    plain = build_batch(ab())
    zstd = build_batch(ab(), BatchOptions(base_offset=2, compression=Compression.ZSTD))
    last = build_batch(ab(), BatchOptions(base_offset=4))
    assert [view.offset for view in views(converted(plain + zstd + last))] == [0, 1]


def test_damage_raises_malformed_unless_something_was_given_before_it() -> None:
    plain = build_batch(ab())
    broken = build_batch(ab(), BatchOptions(base_offset=2, compression=Compression.GZIP))
    broken[62] ^= 255  # gzip's own first bytes
    with pytest.raises(Malformed):
        converted(broken)
    assert [view.offset for view in views(converted(plain, broken))] == [0, 1]


def test_the_whole_grows_no_larger_than_what_was_read_but_for_the_first_batch() -> None:
    batches = build_batches([b"%d" % n for n in range(100)], count_per_batch=10)
    data = converted(batches)
    assert len(batches) - 40 < len(data) <= len(batches)
    offsets = [view.offset for view in views(data)]
    assert offsets == list(range(len(offsets)))
    assert len(offsets) > 10
    first = build_batch([NewRecord(b"x") for _ in range(50)])
    assert len(views(converted(first, fetch_offset=0))) == 50
    assert len(converted(first)) > len(first)
    more = converted(first, build_batch(ab(), BatchOptions(base_offset=50)))
    assert [view.offset for view in views(more)] == list(range(50))


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
def test_many_records_are_written_anew_in_steps(codec: Compression) -> None:
    records = [NewRecord(b"value")] * (3 * RECORDS_OF_A_STEP)
    batch = build_batch(records, BatchOptions(compression=codec))
    pieces, stepped = gone_through(down_convert_in_steps([batch], 1, fetch_offset=0))
    assert stepped.steps >= 3
    assert len(views(b"".join(pieces))) == len(records)


def test_large_records_are_unpacked_summed_and_packed_elsewhere() -> None:
    record = NewRecord(bytes(BYTES_OF_A_STEP))
    batch = build_batch([record], BatchOptions(compression=Compression.GZIP))
    pieces, stepped = gone_through(down_convert_in_steps([batch], 1, fetch_offset=0))
    assert [work.is_large for work in stepped.works] == [True, False, False]
    assert [view.value for view in views(b"".join(pieces))] == [record.value]


def test_every_record_that_fits_is_there_whatever_the_buffers() -> None:
    batches = bytes(build_batches([bytes(200) for _ in range(9)], count_per_batch=3))
    [first, second, third] = iterate_entries(batches)
    split = [batches[: second[0]], batches[second[0] : third[0]], batches[third[0] :]]
    assert first[0] == 0
    assert converted(*split) == converted(batches)
    for _, header in iterate_entries(converted(batches)):
        assert isinstance(header, MessageHeader)
    assert list(iterate_entry_views(batches, *first))[2].offset == 2


@settings(deadline=None)
@given(st.data())
def test_damage_raises_malformed_and_nothing_else(data: st.DataObject) -> None:
    codec = data.draw(st.sampled_from(OLD_CODECS))
    damaged = build_batch([NewRecord(b"value", b"key", 3)] * 3, BatchOptions(compression=codec))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    magic = data.draw(st.sampled_from([0, 1]))
    with suppress(Malformed):
        damaged_codec = read_batch_header(damaged).attributes & 7
        if damaged_codec != Compression.ZSTD:
            views(converted(damaged, magic=magic))
