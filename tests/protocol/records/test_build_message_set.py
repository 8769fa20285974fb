"""We write formats 0 and 1, kafka-python reads them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record.legacy_records import LegacyRecordBatch, LegacyRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords

from protocol.errors import Malformed
from protocol.records.batch import Compression
from protocol.records.build import NewRecord
from protocol.records.build_message_set import (
    MessageSetOptions,
    build_message_set,
    pack_in_steps,
    pack_message_set,
)
from protocol.records.message_set import (
    check_message_crc,
    iterate_message_views,
    iterate_messages,
)
from protocol.records.records import RecordView
from protocol.records.steps import at_once

OLD_CODECS = (Compression.NONE, Compression.GZIP, Compression.SNAPPY, Compression.LZ4)
NULLABLE = st.none() | st.binary(max_size=10)
RECORDS = st.lists(
    st.builds(NewRecord, value=NULLABLE, key=NULLABLE, timestamp_ms=st.integers(-1, 2**63 - 1)),
    min_size=1,
    max_size=8,
)


@settings(deadline=None)
@given(RECORDS, st.sampled_from(OLD_CODECS), st.sampled_from([0, 1]), st.integers(0, 2**62))
def test_records_survive_their_message_set(
    records: list[NewRecord], codec: Compression, magic: int, base_offset: int
) -> None:
    options = MessageSetOptions(magic=magic, base_offset=base_offset, compression=codec)
    data = build_message_set(records, options)
    entries = list(iterate_messages(data))
    assert len(entries) == (len(records) if codec is Compression.NONE else 1)
    assert all(check_message_crc(data, position, header) for position, header in entries)
    read = [view for p, header in entries for view in iterate_message_views(data, p, header)]
    assert [(view.key, view.value) for view in read] == [(one.key, one.value) for one in records]
    assert [view.offset for view in read] == [base_offset + n for n in range(len(records))]
    times = [one.timestamp_ms if magic else -1 for one in records]
    assert [view.timestamp_ms for view in read] == times


@pytest.mark.parametrize("magic", [0, 1])
def test_an_uncompressed_set_is_that_of_kafka_python(magic: int) -> None:
    records = [NewRecord(b"value", b"key", 5), NewRecord(None, b"", 6), NewRecord(b"", None, 7)]
    builder: Any = LegacyRecordBatchBuilder(magic, 0, 9_999_999)
    for offset, record in enumerate(records):
        builder.append(offset, record.timestamp_ms, record.key, record.value)
    assert build_message_set(records, MessageSetOptions(magic=magic)) == builder.build()


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
@pytest.mark.parametrize("magic", [0, 1])
def test_kafka_python_reads_it(magic: int, codec: Compression) -> None:
    records = [NewRecord(b"%d" % n, b"key", 100 - n) for n in range(5)]
    options = MessageSetOptions(magic=magic, base_offset=1_000, compression=codec)
    found = read_by_kafka_python(bytes(build_message_set(records, options)), magic)
    assert [record.offset for record in found] == [1_000, 1_001, 1_002, 1_003, 1_004]
    assert [record.value for record in found] == [b"0", b"1", b"2", b"3", b"4"]
    assert [record.timestamp for record in found] == (
        [100, 99, 98, 97, 96] if magic else [None] * 5
    )
    assert all(record.validate_crc() for record in found)


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
def test_kafka_python_reads_the_time_of_the_broker(codec: Compression) -> None:
    options = MessageSetOptions(magic=1, compression=codec, log_append_time_ms=77)
    data = build_message_set([NewRecord(b"a", timestamp_ms=5), NewRecord(b"b")], options)
    found = read_by_kafka_python(bytes(data), 1)
    assert [(record.timestamp, record.timestamp_type) for record in found] == [(77, 1)] * 2


def read_by_kafka_python(data: bytes, magic: int) -> list[Any]:
    batches: Any = MemoryRecords(data)
    found: list[Any] = []
    batch: Any
    while (batch := batches.next_batch()) is not None:
        assert type(batch).__name__ == LegacyRecordBatch.__name__
        assert batch.magic == magic
        assert batch.validate_crc()
        found += list(batch)
    return found


def test_gaps_between_offsets_stay() -> None:
    records = [NewRecord(b"a", offset_delta=3), NewRecord(b"b"), NewRecord(b"c", offset_delta=9)]
    for codec in OLD_CODECS:
        options = MessageSetOptions(magic=1, base_offset=10, compression=codec)
        data = build_message_set(records, options)
        read = [v for p, h in iterate_messages(data) for v in iterate_message_views(data, p, h)]
        assert [view.offset for view in read] == [13, 14, 19]


@pytest.mark.parametrize("codec", OLD_CODECS)
def test_no_records_make_an_empty_set(codec: Compression) -> None:
    assert pack_message_set([], 1, codec, is_log_append_time=False) == b""


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
def test_a_set_that_becomes_too_large_is_given_up(codec: Compression) -> None:
    records = [RecordView(offset, 0, 0, None, None) for offset in range(1_000)]
    bounded = partial(pack_in_steps, records, 1, codec, is_log_append_time=False)
    with pytest.raises(Malformed, match="295 records are more than 10000 bytes in format 1"):
        at_once(bounded(bytes_max=10_000))
    assert at_once(bounded(bytes_max=34_000)) == at_once(bounded())
