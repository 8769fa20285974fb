"""Snapshot files, and what they hold after data, markers and new epochs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.core.producers import ProducerEntry
from broker.storage.indexes import AbortedTransaction
from broker.storage.producer_snapshot import (
    CorruptSnapshot,
    WrittenProducers,
    pack_snapshot,
    unpack_snapshot,
)
from protocol.records.batch import read_batch_header, stamp
from protocol.records.build import BatchOptions, NewRecord, build_batch, build_end_marker
from protocol.records.records import ControlRecordType
from tests.broker.storage.builders import produced

INT64 = st.integers(-(2**63), 2**63 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
ENTRIES = st.lists(
    st.builds(
        ProducerEntry,
        INT64,
        st.integers(-(2**15), 2**15 - 1),
        INT32,
        INT64,
        INT32,
        INT64,
        INT32,
        INT64,
    )
)
DAY_MS = 86_400_000


def note(producers: WrittenProducers, data: bytes) -> AbortedTransaction | None:
    return producers.note(read_batch_header(data), data, 0)


def transactional(base_offset: int, producer_id: int, sequence: int) -> bytes:
    options = BatchOptions(
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
        is_transactional=True,
    )
    return bytes(build_batch([NewRecord(value=b"v")], options))


def marker(base_offset: int, producer_id: int, kind: ControlRecordType, epoch: int = 0) -> bytes:
    data = build_end_marker(
        kind, producer_id=producer_id, producer_epoch=epoch, coordinator_epoch=5, timestamp_ms=0
    )
    stamp(data, 0, base_offset=base_offset, leader_epoch=0)
    return bytes(data)


@given(ENTRIES)
def test_a_snapshot_is_read_back(entries: list[ProducerEntry]) -> None:
    data = pack_snapshot(entries)
    assert len(data) == 10 + 46 * len(entries)
    assert unpack_snapshot(data) == entries


def test_an_empty_snapshot_is_kafkas() -> None:
    assert pack_snapshot([]).hex() == "000148674bc700000000"


def test_any_damage_to_a_snapshot_is_noticed() -> None:
    good = pack_snapshot([ProducerEntry(1, 0, 5, 5, 0, 9, -1, -1)])
    damaged = [good[:-1], good[:9], b"", b"\0\2" + good[2:]]
    damaged += [good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :] for at in range(2, len(good))]
    for data in damaged:
        with pytest.raises(CorruptSnapshot):
            unpack_snapshot(data)


def test_the_last_batch_of_each_producer_is_kept() -> None:
    producers = WrittenProducers()
    note(producers, produced(0, 9, 0))
    note(producers, produced(1, 4, 0))
    note(producers, produced(2, 9, 1))
    assert producers.entries == [
        ProducerEntry(4, 0, 0, 1, 0, 1, -1, -1),
        ProducerEntry(9, 0, 1, 2, 0, 2, -1, -1),
    ]


def test_an_aborted_transaction_is_told_with_its_bounds() -> None:
    producers = WrittenProducers()
    note(producers, transactional(10, 1, 0))
    note(producers, transactional(11, 2, 0))
    note(producers, transactional(12, 1, 1))
    assert [entry.transaction_first_offset for entry in producers.entries] == [10, 11]
    assert note(producers, marker(13, 1, ControlRecordType.ABORT)) == AbortedTransaction(
        1, 10, 13, 11
    )
    assert note(producers, marker(14, 2, ControlRecordType.COMMIT)) is None
    assert [entry.transaction_first_offset for entry in producers.entries] == [-1, -1]
    assert [entry.coordinator_epoch for entry in producers.entries] == [5, 5]


def test_the_last_open_transaction_leaves_everything_stable_behind_its_marker() -> None:
    producers = WrittenProducers()
    note(producers, transactional(10, 1, 0))
    assert note(producers, marker(11, 1, ControlRecordType.ABORT)) == AbortedTransaction(
        1, 10, 11, 12
    )


def test_a_marker_may_be_all_that_is_known_of_a_producer() -> None:
    producers = WrittenProducers()
    assert note(producers, marker(3, 8, ControlRecordType.ABORT, epoch=2)) is None
    entry = producers.entries[0]
    assert (entry.producer_epoch, entry.last_sequence, entry.last_offset) == (2, -1, -1)
    assert entry.offset_delta == 0


def test_a_marker_with_a_newer_epoch_still_ends_the_open_transaction() -> None:
    producers = WrittenProducers()
    note(producers, transactional(10, 1, 0))
    ended = note(producers, marker(11, 1, ControlRecordType.ABORT, epoch=1))
    assert ended == AbortedTransaction(1, 10, 11, 12)
    assert producers.entries[0].last_sequence == -1


def test_producers_idle_for_a_day_are_left_out() -> None:
    old = ProducerEntry(1, 0, 0, 0, 0, 0, -1, -1)
    in_transaction = ProducerEntry(2, 0, 0, 0, 0, 0, -1, 5)
    producers = WrittenProducers([old, in_transaction])
    assert producers.entries == [old, in_transaction]
    options = BatchOptions(base_offset=9, producer_id=3, producer_epoch=0, base_sequence=0)
    note(producers, bytes(build_batch([NewRecord(value=b"", timestamp_ms=DAY_MS)], options)))
    assert [entry.producer_id for entry in producers.entries] == [2, 3]
