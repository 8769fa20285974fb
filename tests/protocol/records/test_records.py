import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import Malformed
from protocol.records.batch import Compression, iterate_batches, read_batch_header
from protocol.records.build import (
    BatchOptions,
    NewRecord,
    build_batch,
    build_batches,
    build_end_marker,
)
from protocol.records.records import (
    ControlRecordType,
    Record,
    control_type,
    coordinator_epoch,
    copy_record,
    iterate_all_records,
    iterate_record_views,
    iterate_records,
    read_headers,
    wrapped_int64,
)


def test_an_end_marker_says_what_it_ends() -> None:
    batch = build_end_marker(
        ControlRecordType.COMMIT,
        producer_id=9,
        producer_epoch=2,
        coordinator_epoch=33,
        timestamp_ms=5,
    )
    header = read_batch_header(batch)
    [record] = iterate_records(batch, 0, header)
    assert header.is_control
    assert header.is_transactional
    assert control_type(record) is ControlRecordType.COMMIT
    assert coordinator_epoch(record) == 33


def test_a_control_type_of_the_future_is_unknown_not_an_error() -> None:
    assert control_type(Record(0, 0, -1, b"\0\0\0\x63", None, ())) is ControlRecordType.UNKNOWN


@pytest.mark.parametrize("key", [None, b"", b"abc"])
def test_a_control_record_without_its_key_is_refused(key: bytes | None) -> None:
    with pytest.raises(Malformed):
        control_type(Record(0, 0, -1, key, None, ()))
    with pytest.raises(Malformed):
        coordinator_epoch(Record(0, 0, -1, b"\0\0\0\0", key, ()))


@given(st.data())
def test_broken_records_raise_malformed_and_nothing_else(data: st.DataObject) -> None:
    records = [NewRecord(b"value", b"key", 3, (("h", b"v"), ("n", None))), NewRecord(None)]
    codec = data.draw(st.sampled_from(list(Compression)))
    batch = build_batch(records, BatchOptions(compression=codec))
    position = data.draw(st.integers(57, len(batch) - 1))
    batch[position] = data.draw(st.integers(0, 255))
    try:
        list(iterate_all_records(batch))
    except Malformed:
        return


@pytest.mark.parametrize("count", [1, 3, -1])
def test_a_count_that_does_not_fit_the_records_is_refused(count: int) -> None:
    batch = build_batches([b"a", b"b"], count_per_batch=2)
    batch[57:61] = count.to_bytes(4, signed=True)
    with pytest.raises(Malformed):
        list(iterate_all_records(batch))


def test_records_of_every_batch_come_in_order() -> None:
    batches = build_batches([bytes([i]) for i in range(10)], count_per_batch=3)
    assert len(list(iterate_batches(batches))) == 4
    assert [record.offset for record in iterate_all_records(batches)] == list(range(10))


def test_views_are_slices_of_the_batch_and_records_are_not() -> None:
    batch = build_batch([NewRecord(b"value", b"key", 7, (("name", b"v"),)), NewRecord(None)])
    header = read_batch_header(batch)
    first, second = iterate_record_views(batch, 0, header)
    record = copy_record(first)
    assert isinstance(first.value, memoryview)
    assert first.value.obj is batch
    assert read_headers(first.headers) == (("name", b"v"),)
    assert (second.key, second.value) == (None, None)
    first.value[:] = b"VALUE"
    assert bytes(first.value) == b"VALUE"
    assert (record.key, record.value, record.timestamp_ms) == (b"key", b"value", 7)


def test_a_view_keeps_the_time_that_the_producer_set() -> None:
    batch = build_batch([NewRecord(b"a", timestamp_ms=5)], BatchOptions(log_append_time_ms=900))
    [view] = iterate_record_views(batch, 0, read_batch_header(batch))
    assert (view.timestamp_ms, view.created_ms) == (900, 5)


def test_decompression_stops_at_its_limit() -> None:
    batch = build_batch([NewRecord(bytes(100_000))], BatchOptions(compression=Compression.ZSTD))
    header = read_batch_header(batch)
    with pytest.raises(Malformed):
        list(iterate_record_views(batch, 0, header, output_bytes_max=50_000))


def test_the_headers_of_a_record_fill_what_is_left_of_it() -> None:
    assert read_headers(b"") == ()
    for broken in (b"\x02", b"\x01", b"\x00\x00", b"\x02\x01\x01", b"\x02\x02\xff\x01"):
        with pytest.raises(Malformed):
            read_headers(broken)


def test_numbers_wrap_like_those_of_64_bits() -> None:
    for value in (0, -1, 2**63 - 1, -(2**63)):
        assert wrapped_int64(value) == value
        assert wrapped_int64(value + 2**64) == value
        assert wrapped_int64(value - 2**64) == value
