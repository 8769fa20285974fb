"""A reader of committed records leaves out what was aborted, as Kafka's consumer does."""

from __future__ import annotations

from protocol.messages.fetch import AbortedTransaction
from protocol.records.batch import read_batch_header
from protocol.records.build import BatchOptions, NewRecord, build_batch, build_end_marker
from protocol.records.records import ControlRecordType
from simulation.core.aborted_records import AbortedRecords

ONE, OTHER = 7, 8


def data(offset: int, producer_id: int, *, is_transactional: bool = True) -> bytes:
    options = BatchOptions(
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=is_transactional,
    )
    return bytes(build_batch([NewRecord(b"value")], options))


def marker(offset: int, producer_id: int, control: ControlRecordType) -> bytes:
    batch = build_end_marker(
        control, producer_id=producer_id, producer_epoch=0, coordinator_epoch=0, timestamp_ms=0
    )
    batch[:8] = offset.to_bytes(8)
    return bytes(batch)


def left_out(batches: list[bytes], *aborted: tuple[int, int]) -> list[int]:
    """Return the offsets of the batches that a reader is not given."""
    transactions = [AbortedTransaction(producer_id=one, first_offset=at) for one, at in aborted]
    records = AbortedRecords(transactions)
    return [
        header.base_offset
        for header, batch in ((read_batch_header(batch), batch) for batch in batches)
        if records.leave_out(batch, 0, header)
    ]


ABORT, COMMIT = ControlRecordType.ABORT, ControlRecordType.COMMIT


def test_all_batches_of_a_transaction_to_its_marker_are_left_out_and_none_behind_it():
    log = [data(0, ONE), data(1, ONE), marker(2, ONE, ABORT), data(3, ONE), marker(4, ONE, COMMIT)]
    assert left_out(log, (ONE, 0)) == [0, 1, 2, 4]


def test_what_others_write_between_is_given():
    log = [
        data(0, ONE),
        data(1, OTHER),
        data(2, -1, is_transactional=False),
        data(3, ONE, is_transactional=False),
        marker(4, OTHER, COMMIT),
        marker(5, ONE, ABORT),
    ]
    assert left_out(log, (ONE, 0)) == [0, 4, 5]


def test_what_the_producer_committed_before_is_given():
    log = [data(0, ONE), marker(1, ONE, COMMIT), data(2, ONE), marker(3, ONE, ABORT)]
    assert left_out(log, (ONE, 2)) == [1, 2, 3]


def test_two_aborted_transactions_of_one_producer_are_both_left_out():
    log = [data(0, ONE), marker(1, ONE, ABORT), data(2, ONE), marker(3, ONE, ABORT), data(4, ONE)]
    assert left_out(log, (ONE, 2), (ONE, 0)) == [0, 1, 2, 3]


def test_who_reads_uncommitted_records_misses_the_markers_alone():
    assert left_out([data(0, ONE), marker(1, ONE, ABORT), data(2, ONE)]) == [1]
