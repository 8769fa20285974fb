"""Spans: where records lie, their keys, and copies with other timestamps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import Malformed
from protocol.records.batch import Compression, read_batch_header
from protocol.records.build import BatchOptions, NewRecord, build_batch
from protocol.records.records import iterate_records
from protocol.records.spans import append_span, first_without_key, record_bytes, record_spans

RECORDS = st.lists(
    st.builds(
        NewRecord,
        value=st.none() | st.binary(max_size=200),
        key=st.none() | st.binary(max_size=80),
        timestamp_ms=st.integers(0, 2**42),
        headers=st.just(()) | st.just((("name", b"content"), ("null", None))),
    ),
    min_size=1,
    max_size=5,
)


@given(RECORDS, st.sampled_from(Compression))
def test_spans_tell_what_the_records_tell(
    records: list[NewRecord], compression: Compression
) -> None:
    batch = build_batch(records, BatchOptions(base_offset=40, compression=compression))
    header = read_batch_header(batch)
    spans = record_spans(record_bytes(batch, header), header.records_count)
    for span, record in zip(spans, iterate_records(batch, 0, header), strict=True):
        assert span.key == record.key
        assert span.is_tombstone == (record.value is None)
        assert header.base_offset + span.offset_delta == record.offset
        assert header.base_timestamp + span.timestamp_delta == record.timestamp_ms


@given(RECORDS)
def test_a_copied_span_is_the_same_record(records: list[NewRecord]) -> None:
    batch = build_batch(records)
    header = read_batch_header(batch)
    data = record_bytes(batch, header)
    output = bytearray()
    for span in record_spans(data, header.records_count):
        append_span(output, data, span, span.timestamp_delta)
    assert bytes(output) == data


def test_an_emptied_batch_has_no_spans() -> None:
    batch = build_batch([], BatchOptions(compression=Compression.ZSTD))
    assert record_bytes(batch, read_batch_header(batch)) == b""
    assert record_spans(b"", 0) == []


def test_the_first_record_without_a_key_is_found() -> None:
    records = [NewRecord(b"v", b"k"), NewRecord(b"v", b""), NewRecord(b"v"), NewRecord(b"v")]
    batch = build_batch(records)
    header = read_batch_header(batch)
    assert first_without_key(record_bytes(batch, header), 4) == 2
    keyed = build_batch(records[:2])
    assert first_without_key(record_bytes(keyed, read_batch_header(keyed)), 2) is None


def test_cut_records_are_refused_wherever_they_are_cut() -> None:
    batch = build_batch([NewRecord(b"value", b"key"), NewRecord(None, b"other")])
    data = record_bytes(batch, read_batch_header(batch))
    for end in range(len(data)):
        with pytest.raises(Malformed):
            record_spans(data[:end], 2)
    with pytest.raises(Malformed, match="behind the last"):
        record_spans(data, 1)


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(b"\x0a\x00\x00\x00\x20\x00", id="a key beyond its record"),
        pytest.param(b"\x0c\x00\x00\x00\x00\x20\x00", id="a value beyond its record"),
        pytest.param(b"\x0a\x00\x00\x00\x01\x01", id="no count of headers"),
    ],
)
def test_a_field_that_leaves_its_record_is_refused(record: bytes) -> None:
    with pytest.raises(Malformed):
        record_spans(record + bytes(40), 1)
