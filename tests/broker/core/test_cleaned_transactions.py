"""What compaction may discard of transactions."""

from __future__ import annotations

from typing import NamedTuple

from broker.core.cleaned_transactions import CleanedTransactions
from protocol.records.batch import BatchHeader, read_batch_header
from protocol.records.build import BatchOptions, NewRecord, build_batch
from protocol.records.records import ControlRecordType

ABORT, COMMIT = ControlRecordType.ABORT, ControlRecordType.COMMIT


class Entry(NamedTuple):
    producer_id: int
    first_offset: int


def data(offset: int, producer: int = 7, *, transactional: bool = True) -> BatchHeader:
    options = BatchOptions(
        base_offset=offset,
        producer_id=producer,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=transactional,
    )
    return read_batch_header(build_batch([NewRecord(b"v", b"k")], options))


def following(*aborted: Entry) -> CleanedTransactions[Entry]:
    transactions: CleanedTransactions[Entry] = CleanedTransactions()
    transactions.expect(aborted)
    return transactions


def test_batches_of_an_aborted_transaction_go_and_its_marker_stays_for_now() -> None:
    transactions = following(Entry(7, 10))
    assert not transactions.read_data(data(5))
    assert not transactions.read_marker(data(6), COMMIT)
    assert transactions.read_data(data(10))
    assert not transactions.read_data(data(11, producer=8))
    assert not transactions.read_data(data(12, transactional=False))
    assert not transactions.read_marker(data(13), ABORT)
    assert transactions.kept == [Entry(7, 10)]
    assert not transactions.read_data(data(14))


def test_a_marker_goes_when_nothing_of_its_transaction_is_left() -> None:
    transactions = following(Entry(7, 10))
    assert transactions.read_marker(data(13), ABORT)
    assert transactions.read_marker(data(14, producer=8), COMMIT)
    assert transactions.read_marker(data(15, producer=9), None)
    assert transactions.kept == []


def test_a_committed_transaction_keeps_its_own_marker_only() -> None:
    transactions = following()
    transactions.read_data(data(1))
    assert not transactions.read_marker(data(2), COMMIT)
    assert transactions.read_marker(data(3), COMMIT)


def test_two_aborted_transactions_of_one_producer_are_two() -> None:
    transactions = following(Entry(7, 10), Entry(7, 20), Entry(7, 10))
    assert transactions.read_data(data(10))
    assert not transactions.read_marker(data(11), ABORT)
    assert not transactions.read_data(data(15))
    assert not transactions.read_marker(data(16), COMMIT)
    assert transactions.read_data(data(20))
    assert not transactions.read_marker(data(21), ABORT)
    assert transactions.kept == [Entry(7, 10), Entry(7, 20)]


def test_other_control_records_stay() -> None:
    assert not following().read_marker(data(1), ControlRecordType.LEADER_CHANGE)
