"""The last stable offset, and what a replica notes of what it fetched."""

from __future__ import annotations

import pytest

from broker.core.producers import ProducerStates
from broker.core.replica_producers import ReplicaProducers
from broker.core.transactions import EndMarker, build_marker
from protocol.records.batch import BatchHeader, iterate_batches, stamp
from protocol.records.build import BatchOptions, NewRecord, build_batch

WALL_MS = 1_000


def data(offset: int, producer_id: int, sequence: int = 0) -> bytes:
    options = BatchOptions(
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
        is_transactional=True,
    )
    return bytes(build_batch([NewRecord(b"v")], options))


def marker(offset: int, producer_id: int, *, commit: bool = False) -> bytes:
    batch = build_marker(EndMarker(producer_id, 0, 0, commit), 0)
    stamp(batch, 0, base_offset=offset, leader_epoch=0)
    return bytes(batch)


def note(producers: ReplicaProducers, *batches: bytes, high_watermark: int = 0) -> None:
    records = b"".join(batches)
    headers: list[BatchHeader] = [header for _, header in iterate_batches(records)]
    producers.note_replicated(headers, records, high_watermark=high_watermark, now_ms=WALL_MS)


def test_without_transactions_all_that_is_replicated_is_stable() -> None:
    assert ReplicaProducers().last_stable_offset(17, 0) == 17


def test_an_open_transaction_holds_readers_back() -> None:
    producers = ReplicaProducers()
    note(producers, data(10, 1), data(11, 2), data(12, 1, 1))
    assert producers.last_stable_offset(8, 0) == 8
    assert producers.last_stable_offset(13, 0) == 10


def test_an_ended_transaction_holds_readers_back_until_its_marker_is_replicated() -> None:
    producers = ReplicaProducers()
    note(producers, data(10, 1), data(11, 2), marker(12, 1))
    assert producers.last_stable_offset(12, 0) == 10
    assert producers.last_stable_offset(13, 0) == 11
    note(producers, marker(13, 2, commit=True))
    assert producers.last_stable_offset(13, 0) == 11
    assert producers.last_stable_offset(14, 0) == 14


def test_readers_are_not_held_back_before_the_log_start() -> None:
    producers = ReplicaProducers()
    note(producers, data(10, 1))
    assert producers.last_stable_offset(30, 20) == 20


def test_truncation_and_reload_bring_an_open_transaction_back() -> None:
    producers = ReplicaProducers()
    note(producers, data(10, 1), marker(11, 1))
    producers.truncate_from_end(11)
    as_read = ProducerStates()
    header = next(iterate_batches(data(10, 1)))[1]
    as_read.note(header, b"", 0)
    producers.reload(as_read)
    assert producers.last_stable_offset(11, 0) == 10
    assert producers.ended.aborted_between(0, 20) == ()


@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_is_open_again_from_the_moment_its_marker_is_cut_off(*, commit: bool) -> None:
    """Readers do not wait for the producers to be read from the log."""
    producers = ReplicaProducers()
    note(producers, data(10, 7), marker(11, 7, commit=commit))
    producers.truncate_from_end(11)
    assert producers.last_stable_offset(11, 0) == 10
    producers.truncate_from_end(10)
    assert producers.last_stable_offset(10, 0) == 10
    producers.truncate_from_end(9)
    producers.reload(ProducerStates())
    assert producers.last_stable_offset(9, 0) == 9


def test_a_restart_forgets_all() -> None:
    producers = ReplicaProducers()
    note(producers, data(10, 1), data(11, 2), marker(12, 1))
    producers.restart_at(40)
    assert producers.last_stable_offset(45, 40) == 45
    assert len(producers.states) == 0


def test_the_clock_is_what_replicated_producers_expire_by() -> None:
    producers = ReplicaProducers()
    note(producers, data(10, 1), marker(11, 1))
    assert producers.states.expire(WALL_MS + 49, 50) == []
    assert producers.states.expire(WALL_MS + 50, 50) == [1]


def test_producers_found_with_records_that_bear_no_time_count_from_then_on() -> None:
    options = BatchOptions(producer_id=1, producer_epoch=0, base_sequence=0)
    batch = build_batch([NewRecord(b"v", timestamp_ms=-1)], options)
    states = ProducerStates()
    for _, header in iterate_batches(batch):
        states.update(header, 0)
    assert states.expire(WALL_MS, 50) == []
    assert states.expire(WALL_MS + 49, 50) == []
    assert states.expire(WALL_MS + 50, 50) == [1]
