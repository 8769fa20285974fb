from typing import Any

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
    iterate_all_records,
    iterate_records,
)
from tests.golden.vectors import load_vectors

VECTORS = [
    pytest.param(vector, id=vector["name"])
    for vector in load_vectors("records")
    if all(batch["magic"] == 2 for batch in vector["batches"])
]


def in_words_of_the_vectors(record: Record) -> dict[str, Any]:
    return {
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "sequence": record.sequence,
        "key_hex": None if record.key is None else record.key.hex(),
        "value_hex": None if record.value is None else record.value.hex(),
        "headers": [[key, None if value is None else value.hex()] for key, value in record.headers],
    }


@pytest.mark.parametrize("vector", VECTORS)
def test_records_are_read_as_kafka_reads_them(vector: dict[str, Any]) -> None:
    found = list(iterate_all_records(bytes.fromhex(vector["hex"])))
    expected = [
        {name: value for name, value in record.items() if name != "controlType"}
        for record in vector["records"]
    ]
    assert list(map(in_words_of_the_vectors, found)) == expected
    for record, wanted in zip(found, vector["records"], strict=True):
        if "controlType" in wanted:
            assert control_type(record).name == wanted["controlType"]


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
