"""What compaction leaves of a batch."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.core.batch_cleaning import (
    BatchCleaning,
    LastOfProducer,
    control_of,
    index_keys,
    last_of_producers,
)
from broker.core.offset_map import OffsetMap
from broker.core.producers import ProducerEntry
from protocol.ports import Buffer
from protocol.records.batch import (
    BatchHeader,
    Compression,
    check_crc,
    read_batch_header,
    stamp,
    stamp_log_append_time,
)
from protocol.records.build import BatchOptions, NewRecord, build_batch, build_end_marker
from protocol.records.records import ControlRecordType, Record, iterate_records

NOW_MS = 1_000_000
RETENTION_MS = 5_000
HORIZON_MS = NOW_MS + RETENTION_MS


class Entry(NamedTuple):
    producer_id: int
    first_offset: int


def cleaning(
    last: dict[bytes, int],
    *,
    now_ms: int = NOW_MS,
    end_offset: int = 1000,
    producers: dict[int, LastOfProducer] | None = None,
    latest_offset: int = 999,
) -> BatchCleaning[Entry]:
    offsets = OffsetMap(1 << 16, keys_max=len(last))
    for key, offset in sorted(last.items(), key=lambda item: item[1]):
        assert offsets.put(key, offset)
    offsets.advance(latest_offset)
    return BatchCleaning(
        offsets=offsets,
        end_offset=end_offset,
        producers=producers or {},
        now_ms=now_ms,
        delete_retention_ms=RETENTION_MS,
    )


def keyed(*pairs: tuple[bytes | None, bytes | None], at_ms: int = 100) -> list[NewRecord]:
    return [
        NewRecord(value, key, timestamp_ms=at_ms + number, headers=(("h", b"x"),))
        for number, (key, value) in enumerate(pairs)
    ]


def cleaned(rules: BatchCleaning[Entry], batch: Buffer) -> tuple[BatchHeader, list[Record]] | None:
    kept = rules.clean(read_batch_header(batch), batch)
    if kept is None:
        return None
    header = read_batch_header(kept)
    assert check_crc(kept, 0, header)
    assert header.size_bytes == len(kept)
    return header, list(iterate_records(kept, 0, header))


IDEMPOTENT = BatchOptions(
    base_offset=10, leader_epoch=3, producer_id=7, producer_epoch=2, base_sequence=40
)


@pytest.mark.parametrize("compression", Compression)
def test_the_last_value_of_a_key_stays_where_it_was(compression: Compression) -> None:
    options = BatchOptions(
        base_offset=10,
        leader_epoch=3,
        compression=compression,
        producer_id=7,
        producer_epoch=2,
        base_sequence=40,
    )
    batch = build_batch(keyed((b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"c", b"4")), options)
    found = cleaned(cleaning({b"a": 12, b"b": 11, b"c": 20}), batch)
    assert found is not None
    header, records = found
    before = {
        record.offset: record for record in iterate_records(batch, 0, read_batch_header(batch))
    }
    assert records == [before[11], before[12]]
    assert (header.base_offset, header.last_offset, header.base_sequence) == (10, 13, 40)
    assert (header.partition_leader_epoch, header.compression) == (3, compression)
    assert (header.base_timestamp, header.max_timestamp) == (100, 102)


def test_a_batch_that_keeps_all_is_the_same_bytes() -> None:
    batch = build_batch(keyed((b"a", b"1"), (b"b", b"2")))
    assert cleaning({b"a": 0, b"b": 1}).clean(read_batch_header(batch), batch) is batch


def test_records_behind_the_map_stay_as_they_are() -> None:
    batch = build_batch(keyed((b"a", b"1"), (None, b"2")), BatchOptions(base_offset=50))
    rules = cleaning({b"a": 40}, latest_offset=49)
    assert rules.clean(read_batch_header(batch), batch) is batch


def test_records_without_a_key_go() -> None:
    assert cleaned(cleaning({}), build_batch(keyed((None, b"1")))) is None


def test_a_tombstone_gets_its_horizon_first() -> None:
    batch = build_batch(keyed((b"a", b"0"), (b"a", None), (b"b", b"2")), IDEMPOTENT)
    found = cleaned(cleaning({b"a": 11, b"b": 12}), batch)
    assert found is not None
    header, records = found
    assert header.delete_horizon_ms == HORIZON_MS
    before = list(iterate_records(batch, 0, read_batch_header(batch)))
    assert records == before[1:]
    assert header.max_timestamp == 102
    assert header.base_sequence == 40


def with_horizon(*pairs: tuple[bytes, bytes | None]) -> bytearray:
    return build_batch(keyed(*pairs), BatchOptions(delete_horizon_ms=HORIZON_MS))


def test_a_tombstone_goes_when_its_horizon_has_come() -> None:
    batch = with_horizon((b"a", None), (b"b", b"2"))
    early = cleaning({b"a": 0, b"b": 1}, now_ms=HORIZON_MS - 1)
    assert early.clean(read_batch_header(batch), batch) is batch
    found = cleaned(cleaning({b"a": 0, b"b": 1}, now_ms=HORIZON_MS), batch)
    assert found is not None
    header, records = found
    assert [(record.key, record.timestamp_ms) for record in records] == [(b"b", 101)]
    assert header.delete_horizon_ms == HORIZON_MS


def test_a_horizon_does_not_pass_the_largest_time() -> None:
    rules = cleaning({b"a": 0})
    rules.delete_retention_ms = 2**63 - 1
    found = cleaned(rules, build_batch(keyed((b"a", None))))
    assert found is not None
    assert found[0].delete_horizon_ms == 2**63 - 1
    assert found[1][0].timestamp_ms == 100


def test_an_append_time_survives_compaction() -> None:
    batch = build_batch(keyed((b"a", b"1"), (b"b", b"2"), (b"c", None)))
    stamp_log_append_time(batch, 0, read_batch_header(batch), 777)
    found = cleaned(cleaning({b"a": 5, b"b": 1, b"c": 2}), batch)
    assert found is not None
    header, records = found
    assert header.max_timestamp == 777
    assert [record.timestamp_ms for record in records] == [777, 777]


def test_the_last_batch_of_a_producer_stays_empty() -> None:
    batch = build_batch(keyed((b"a", b"1"), (b"a", b"2")), IDEMPOTENT)
    rules = cleaning({b"a": 99}, producers={7: LastOfProducer(2, 11)})
    found = cleaned(rules, batch)
    assert found is not None
    header, records = found
    assert records == []
    assert (header.records_count, header.base_sequence, header.last_sequence) == (0, 40, 41)
    assert (header.producer_id, header.producer_epoch) == (7, 2)
    assert (header.base_offset, header.last_offset, header.base_timestamp) == (10, 11, -1)
    again = build_batch([], BatchOptions(producer_id=7, base_offset=10, last_offset_delta=1))
    assert rules.clean(read_batch_header(again), again) is again


def test_an_earlier_batch_of_a_producer_goes() -> None:
    batch = build_batch(keyed((b"a", b"1")), IDEMPOTENT)
    assert cleaned(cleaning({b"a": 99}, producers={7: LastOfProducer(2, 30)}), batch) is None


def test_the_last_batch_of_a_pass_stays_empty() -> None:
    batch = build_batch(keyed((b"a", b"1")), BatchOptions(base_offset=10))
    found = cleaned(cleaning({b"a": 99}, end_offset=11), batch)
    assert found is not None
    assert found[0].records_count == 0
    assert cleaned(cleaning({b"a": 99}, end_offset=12), batch) is None


def marker(control: ControlRecordType, offset: int) -> bytearray:
    batch = build_end_marker(
        control, producer_id=7, producer_epoch=2, coordinator_epoch=1, timestamp_ms=100
    )
    stamp(batch, 0, base_offset=offset, leader_epoch=0)
    return batch


def transactional(offset: int) -> bytearray:
    options = BatchOptions(
        base_offset=offset,
        producer_id=7,
        producer_epoch=2,
        base_sequence=0,
        is_transactional=True,
    )
    return build_batch(keyed((b"a", b"1")), options)


def test_records_of_an_aborted_transaction_go() -> None:
    rules = cleaning({b"a": 10})
    rules.transactions.expect([Entry(7, 10)])
    assert cleaned(rules, transactional(10)) is None
    abort = marker(ControlRecordType.ABORT, 11)
    assert rules.clean(read_batch_header(abort), abort) is abort
    assert rules.transactions.kept == [Entry(7, 10)]


def test_a_marker_gets_a_horizon_when_its_records_are_gone_and_goes_then() -> None:
    commit = marker(ControlRecordType.COMMIT, 11)
    kept = cleaning({}).clean(read_batch_header(commit), commit)
    assert kept is not None
    header = read_batch_header(kept)
    assert header.delete_horizon_ms == HORIZON_MS
    assert control_of(header, kept) is ControlRecordType.COMMIT
    assert header.is_control
    assert header.is_transactional
    early = cleaning({}, now_ms=HORIZON_MS - 1)
    assert early.clean(header, kept) is kept
    assert cleaning({}, now_ms=HORIZON_MS).clean(header, kept) is None


def test_a_marker_stays_while_its_records_are_there() -> None:
    rules = cleaning({b"a": 10})
    kept = transactional(10)
    assert rules.clean(read_batch_header(kept), kept) is kept
    commit = marker(ControlRecordType.COMMIT, 11)
    assert rules.clean(read_batch_header(commit), commit) is commit


def test_the_marker_of_a_producer_known_by_it_alone_stays_empty() -> None:
    commit = marker(ControlRecordType.COMMIT, 11)
    rules = cleaning({}, producers={7: LastOfProducer(2, -1)}, now_ms=HORIZON_MS)
    horizon = cleaning({}).clean(read_batch_header(commit), commit)
    assert horizon is not None
    found = cleaned(rules, horizon)
    assert found is not None
    assert found[0].records_count == 0
    assert found[0].is_control
    assert control_of(found[0], b"") is None
    other = cleaning({}, producers={7: LastOfProducer(3, -1)}, now_ms=HORIZON_MS)
    assert cleaned(other, horizon) is None


def test_the_producers_of_a_snapshot_tell_their_last_batches() -> None:
    entries = [
        ProducerEntry(7, 2, 41, 11, 1, 0, -1, -1),
        ProducerEntry(8, 3, -1, -1, 0, 0, 5, -1),
    ]
    assert last_of_producers(entries) == {7: LastOfProducer(2, 11), 8: LastOfProducer(3, -1)}


def test_keys_are_noted_from_the_first_dirty_offset_until_the_map_is_full() -> None:
    batch = build_batch(keyed((b"a", b"1"), (None, b"2"), (b"b", b"3"), (b"c", b"4")))
    header = read_batch_header(batch)
    offsets = OffsetMap(1 << 10, keys_max=10)
    assert index_keys(offsets, header, batch, 1)
    assert [offsets.get(key) for key in (b"a", b"b", b"c")] == [-1, 2, 3]
    small = OffsetMap(0, keys_max=0)
    assert not index_keys(small, header, batch, 0)
    assert small.latest_offset == 0


KEYS = st.sampled_from([b"a", b"b", b"c", None])
VALUES = st.none() | st.binary(max_size=4)


@given(
    st.lists(st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=4), max_size=8),
    st.sampled_from([Compression.NONE, Compression.LZ4]),
)
def test_a_compacted_log_has_the_last_value_of_each_key(
    batches: list[list[tuple[bytes | None, bytes | None]]], compression: Compression
) -> None:
    log: list[bytearray] = []
    last: dict[bytes, int] = {}
    everything: dict[int, tuple[bytes | None, bytes | None]] = {}
    offset = 0
    for pairs in batches:
        options = BatchOptions(base_offset=offset, compression=compression)
        log.append(build_batch(keyed(*pairs), options))
        for pair in pairs:
            everything[offset] = pair
            if pair[0] is not None:
                last[pair[0]] = offset
            offset += 1
    rules = cleaning(last, end_offset=offset)
    survivors: dict[int, tuple[bytes | None, bytes | None]] = {}
    for batch in log:
        found = cleaned(rules, batch)
        if found is not None:
            survivors |= {one.offset: (one.key, one.value) for one in found[1]}
    assert survivors == {at: everything[at] for at in sorted(last.values())}
