from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.records.batch import Compression, check_crc, iterate_batches, read_batch_header
from protocol.records.build import BatchOptions, NewRecord, build_batch, build_batches
from protocol.records.records import iterate_all_records, iterate_records
from tests.golden.vectors import load_vectors

REBUILDABLE = [
    pytest.param(vector, id=vector["name"])
    for vector in load_vectors("records")
    if vector["magic"] == 2
    and vector["codec"] == "none"
    and len(vector["batches"]) == 1
    and vector["records"]
    and vector["batch"]["deleteHorizonMs"] is None
    and vector["batch"]["timestampType"] == "CreateTime"
    and "compacted" not in vector["name"]
]

NULLABLE = st.none() | st.binary(max_size=10)
RECORDS = st.lists(
    st.builds(
        NewRecord,
        value=NULLABLE,
        key=NULLABLE,
        timestamp_ms=st.integers(-1, 2**62),
        headers=st.lists(st.tuples(st.text(max_size=4), NULLABLE), max_size=2).map(tuple),
    ),
    max_size=8,
)


@pytest.mark.parametrize("vector", REBUILDABLE)
def test_an_uncompressed_batch_is_built_as_kafka_builds_it(vector: dict[str, Any]) -> None:
    batch = vector["batch"]
    options = BatchOptions(
        base_offset=batch["baseOffset"],
        leader_epoch=batch["partitionLeaderEpoch"],
        producer_id=batch["producerId"],
        producer_epoch=batch["producerEpoch"],
        base_sequence=batch["baseSequence"],
        is_transactional=batch["isTransactional"],
        is_control=batch["isControl"],
        last_offset_delta=batch["lastOffsetDelta"],
    )
    records = [
        NewRecord(
            value=unhex(record["value_hex"]),
            key=unhex(record["key_hex"]),
            timestamp_ms=record["timestamp"],
            headers=tuple((key, unhex(value)) for key, value in record["headers"]),
            offset_delta=record["offset"] - batch["baseOffset"],
        )
        for record in vector["records"]
    ]
    assert build_batch(records, options).hex() == vector["hex"]


def unhex(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


@given(RECORDS, st.sampled_from(list(Compression)), st.integers(0, 2**40))
def test_records_survive_their_batch(
    records: list[NewRecord], codec: Compression, base_offset: int
) -> None:
    batch = build_batch(records, BatchOptions(base_offset=base_offset, compression=codec))
    header = read_batch_header(batch)
    assert check_crc(batch, 0, header)
    assert header.size_bytes == len(batch)
    assert header.compression is codec
    read = list(iterate_records(batch, 0, header))
    assert [(record.value, record.key, record.timestamp_ms, record.headers) for record in read] == [
        (record.value, record.key, record.timestamp_ms, record.headers) for record in records
    ]
    assert [record.offset for record in read] == [base_offset + i for i in range(len(records))]


def test_an_idempotent_batch_numbers_its_records() -> None:
    options = BatchOptions(producer_id=7, producer_epoch=0, base_sequence=2**31 - 1)
    batch = build_batch([NewRecord(b"a"), NewRecord(b"b")], options)
    assert [record.sequence for record in iterate_all_records(batch)] == [2**31 - 1, 0]
    assert read_batch_header(batch).last_sequence == 0


def test_plain_batches_follow_each_other() -> None:
    batches = build_batches([b"a", b"b", b"c"], count_per_batch=2)
    assert [(h.base_offset, h.last_offset) for _, h in iterate_batches(batches)] == [(0, 1), (2, 2)]
