from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import Malformed
from protocol.records.batch import (
    HEADER_SIZE_BYTES,
    Compression,
    UnsupportedMagic,
    check_crc,
    iterate_batches,
    pack_header,
    read_batch_header,
    stamp,
    stamp_log_append_time,
    whole_batches_size_bytes,
)
from protocol.records.build import BatchOptions, NewRecord, build_batch, build_batches
from protocol.records.records import iterate_all_records
from tests.golden.record_vectors import batch_words, record_vectors

VECTORS = [
    pytest.param(vector, id=vector["name"])
    for vector in record_vectors()
    if all(batch["magic"] == 2 for batch in vector["batches"])
]


@pytest.mark.parametrize("vector", VECTORS)
def test_headers_are_read_as_kafka_reads_them(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    found = list(iterate_batches(data))
    assert [header.base_offset for _, header in found] == [
        batch["baseOffset"] for batch in vector["batches"]
    ]
    for (position, header), batch in zip(found, vector["batches"], strict=True):
        assert check_crc(data, position, header)
        words = batch_words(header)
        assert words == {name: batch[name] for name in words}
        assert pack_header(header) == data[position : position + HEADER_SIZE_BYTES]


def test_stamping_changes_offset_and_epoch_and_keeps_the_sum() -> None:
    data = memoryview(bytearray(b"head") + build_batches([b"a", b"b"], count_per_batch=2))
    stamp(data, 4, base_offset=2**40, leader_epoch=7)
    header = read_batch_header(data, 4)
    assert (header.base_offset, header.partition_leader_epoch) == (2**40, 7)
    assert (header.last_offset, header.next_offset) == (2**40 + 1, 2**40 + 2)
    assert check_crc(data, 4, header)
    assert [record.value for record in iterate_all_records(data[4:])] == [b"a", b"b"]


def test_log_append_time_holds_for_every_record() -> None:
    records = [NewRecord(b"a", timestamp_ms=5), NewRecord(b"b", timestamp_ms=9)]
    data = build_batch(records, BatchOptions(compression=Compression.ZSTD))
    stamp_log_append_time(data, 0, read_batch_header(data), 1_000)
    header = read_batch_header(data)
    assert header.is_log_append_time
    assert header.compression is Compression.ZSTD
    assert header.base_timestamp == 5
    assert check_crc(data, 0, header)
    assert [record.timestamp_ms for record in iterate_all_records(data)] == [1_000, 1_000]


@given(st.lists(st.binary(max_size=20), min_size=1, max_size=10), st.data())
def test_a_cut_tail_is_left_out(values: list[bytes], data: st.DataObject) -> None:
    batches = build_batches(values)
    cut = data.draw(st.integers(0, len(batches)))
    whole = [
        position + header.size_bytes
        for position, header in iterate_batches(batches)
        if position + header.size_bytes <= cut
    ]
    assert [p + h.size_bytes for p, h in iterate_batches(batches[:cut])] == whole
    assert whole_batches_size_bytes(batches[:cut]) == (whole[-1] if whole else 0)


@given(st.data())
def test_any_flipped_bit_behind_the_sum_is_noticed(data: st.DataObject) -> None:
    batch = build_batches([b"some", b"values"], count_per_batch=2)
    bit = data.draw(st.integers(17 * 8, len(batch) * 8 - 1))
    batch[bit // 8] ^= 1 << bit % 8
    assert not check_crc(batch, 0, read_batch_header(batch))


def test_a_batch_that_does_not_lie_whole_in_the_buffer_has_no_right_sum() -> None:
    batch = build_batches([b"value"])
    assert not check_crc(batch[:-1], 0, read_batch_header(batch))


def test_the_records_need_not_be_there_to_read_the_header() -> None:
    batch = build_batches([b"value"])
    assert read_batch_header(batch[:HEADER_SIZE_BYTES]) == read_batch_header(batch)


@pytest.mark.parametrize("size", [0, 11, 16, HEADER_SIZE_BYTES - 1])
def test_a_cut_header_is_refused(size: int) -> None:
    with pytest.raises(Malformed):
        read_batch_header(build_batches([b"value"])[:size])


@pytest.mark.parametrize("length", [-1, 0, 48])
def test_a_length_that_no_batch_has_is_refused(length: int) -> None:
    batch = build_batches([b"value"])
    batch[8:12] = length.to_bytes(4, signed=True)
    with pytest.raises(Malformed, match=str(length)):
        list(iterate_batches(batch))


@pytest.mark.parametrize("magic", [0, 1, 3])
def test_other_formats_are_told_apart_from_damage(magic: int) -> None:
    batch = build_batches([b"value"])
    batch[16] = magic
    with pytest.raises(UnsupportedMagic):
        read_batch_header(batch)
    with pytest.raises(UnsupportedMagic):
        read_batch_header(batch[:34])


def test_a_negative_length_cannot_be_measured() -> None:
    with pytest.raises(Malformed):
        whole_batches_size_bytes(bytes(8) + b"\xff" * 4)


def test_an_unknown_codec_is_refused_when_asked_for() -> None:
    header = read_batch_header(build_batches([b"value"]))._replace(attributes=5)
    with pytest.raises(Malformed, match="code 5"):
        _ = header.compression
