from hypothesis import given
from hypothesis import strategies as st

from protocol.records.batch import Compression, check_crc, iterate_batches, read_batch_header
from protocol.records.build import BatchOptions, NewRecord, build_batch, build_batches
from protocol.records.records import iterate_all_records, iterate_records

NULLABLE = st.none() | st.binary(max_size=10)
RECORDS = st.lists(
    st.builds(
        NewRecord,
        value=NULLABLE,
        key=NULLABLE,
        timestamp_ms=st.integers(-(2**63), 2**63 - 1),
        headers=st.lists(st.tuples(st.text(max_size=4), NULLABLE), max_size=2).map(tuple),
    ),
    max_size=8,
)


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


def test_compaction_leaves_what_no_record_tells_any_more() -> None:
    options = BatchOptions(
        base_offset=100, last_offset_delta=19, max_timestamp_ms=1_700, delete_horizon_ms=1_800
    )
    header = read_batch_header(build_batch([NewRecord(b"left", timestamp_ms=1_500)], options))
    assert (header.last_offset, header.max_timestamp) == (119, 1_700)
    assert (header.delete_horizon_ms, header.base_timestamp) == (1_800, 1_800)
    empty = build_batch([], options)
    assert len(empty) == read_batch_header(empty).size_bytes == 61
    batch = build_batch([NewRecord(b"left", timestamp_ms=1_500)], options)
    assert [record.timestamp_ms for record in iterate_all_records(batch)] == [1_500]
