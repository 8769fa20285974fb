"""Producer states: sequences, duplicates, fencing, truncation and snapshots."""

from __future__ import annotations

import pytest

from broker.core.producer_entry import Duplicate, ProducerEntry
from broker.core.producers import ProducerStates
from broker.core.transactions import EndedTransaction, EndMarker, build_marker
from broker.core.verification import ALREADY_OPEN, VerificationGuard
from protocol.errors import ErrorCode, KafkaError
from protocol.records.batch import CONTROL_BIT, read_batch_header, stamp
from protocol.records.build import BatchOptions, build_batch
from tests.broker.core.producing import (
    DAY_MS,
    append,
    entry,
    error_of,
    header,
    in_transaction,
    marker,
)


def test_sequences_that_go_on_are_accepted() -> None:
    states = ProducerStates()
    assert append(states, header(0, count=3), 10) is None
    assert append(states, header(3), 13) is None


def test_a_repeated_batch_is_answered_with_its_first_offsets() -> None:
    states = ProducerStates()
    for index in range(5):
        append(states, header(index * 2, count=2, timestamp=index), 100 + index * 2)
    assert states.check(header(0, count=2)) == Duplicate(100, 101, 0)
    assert states.check(header(8, count=2)) == Duplicate(108, 109, 4)


def test_a_gap_is_out_of_order_but_for_an_unknown_producer() -> None:
    states = ProducerStates()
    assert states.check(header(17)) is None
    append(states, header(0), 0)
    assert error_of(states, header(2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_new_epoch_begins_with_zero() -> None:
    states = ProducerStates()
    append(states, header(5, epoch=1), 0)
    assert error_of(states, header(6, epoch=2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert append(states, header(0, epoch=2), 1) is None
    assert append(states, header(1, epoch=2), 2) is None


def test_an_old_epoch_is_fenced() -> None:
    states = ProducerStates()
    append(states, header(0, epoch=2), 0)
    assert error_of(states, header(1, epoch=1)) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_batch_without_a_producer_leaves_nothing() -> None:
    states = ProducerStates()
    states.update(header(-1, producer=-1, epoch=-1), 0)
    assert len(states) == 0


def test_producers_do_not_see_each_other() -> None:
    states = ProducerStates()
    append(states, header(0, producer=1), 0)
    assert append(states, header(0, producer=2), 1) is None
    assert len(states) == 2


def test_replicated_batches_are_noted_at_their_own_offsets() -> None:
    states = ProducerStates()
    for batch in (header(0, offset=40), header(1, offset=41)):
        assert states.note(batch, b"", 0) is None
    assert states.check(header(1)) == Duplicate(41, 41, 1000)


def test_idle_producers_expire_by_their_last_timestamp() -> None:
    states = ProducerStates([entry(timestamp=0)])
    assert states.expire(DAY_MS - 1, DAY_MS) == []
    assert states.expire(DAY_MS, DAY_MS) == [7]
    assert len(states) == 0


def test_old_record_timestamps_do_not_expire_a_busy_producer() -> None:
    states = ProducerStates()
    states.update(header(0, timestamp=0), 0, now_ms=5 * DAY_MS)
    assert states.expire(5 * DAY_MS + 1, DAY_MS) == []
    assert states.expire(6 * DAY_MS, DAY_MS) == [7]


def test_a_snapshot_keeps_the_last_batch() -> None:
    states = ProducerStates()
    append(states, header(0, count=3), 100)
    append(states, header(3, count=2), 103)
    assert states.snapshot_entries() == [entry()]
    again = ProducerStates(states.snapshot_entries())
    assert again.check(header(3, count=2)) == Duplicate(103, 104, 1000)
    assert again.check(header(5)) is None
    assert error_of(again, header(0, count=3)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_producer_known_by_a_marker_must_begin_with_zero() -> None:
    known = ProducerEntry(7, 3, -1, -1, 0, 1000, 0, -1)
    states = ProducerStates([known])
    assert states.snapshot_entries() == [known]
    assert error_of(states, header(4, epoch=3)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert states.check(header(0, epoch=3)) is None


def test_truncation_forgets_the_batches_beyond_it() -> None:
    states = ProducerStates()
    for index in range(4):
        append(states, header(index, timestamp=index), index)
    states.truncate_from_end(2)
    assert states.check(header(1)) == Duplicate(1, 1, 1)
    assert states.check(header(2)) is None
    assert error_of(states, header(3)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_after_truncating_all_known_batches_the_producer_goes_on_where_it_was() -> None:
    states = ProducerStates()
    for index in range(9):
        append(states, header(index), index)
    states.truncate_from_end(2)
    assert states.check(header(4)) is None
    assert error_of(states, header(5)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    states.clear()
    assert states.check(header(5)) is None


def test_a_transaction_is_open_until_its_marker() -> None:
    states = ProducerStates()
    states.update(in_transaction(0), 50)
    states.update(in_transaction(1), 51)
    states.update(in_transaction(0, producer=8), 52)
    assert states.first_open_offset == 50
    assert states.expire(10 * DAY_MS, DAY_MS) == []
    ended = states.end_transaction(marker(), 53, timestamp=9)
    assert ended == EndedTransaction(7, 50, 53, 52, is_aborted=True)
    states.truncate_from_end(53)
    assert states.first_open_offset == 52
    states.truncate_from_end(52)
    assert states.first_open_offset == -1
    assert states.check(header(2)) is None


def marker_error(states: ProducerStates, one: EndMarker) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        states.check_marker(one)
    return caught.value.code


def test_a_marker_behind_the_last_open_transaction_leaves_all_before_it_stable() -> None:
    states = ProducerStates()
    states.update(in_transaction(0), 10)
    ended = states.end_transaction(marker(commit=True), 11, timestamp=9)
    assert ended == EndedTransaction(7, 10, 11, 12, is_aborted=False)


def test_a_marker_without_a_transaction_ends_nothing_but_is_known() -> None:
    states = ProducerStates()
    assert states.end_transaction(marker(epoch=2), 3, timestamp=9) is None
    assert states.snapshot_entries() == [ProducerEntry(7, 2, -1, -1, 0, 9, 3, -1)]


def test_a_marker_of_the_same_epoch_keeps_the_sequences() -> None:
    states = ProducerStates()
    states.update(in_transaction(0), 10)
    states.end_transaction(marker(), 11, timestamp=9)
    assert states.check(in_transaction(0)) == Duplicate(10, 10, 1000)
    assert error_of(states, in_transaction(2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert states.check(in_transaction(1)) is None


def test_a_marker_of_a_newer_epoch_ends_the_transaction_and_fences_the_producer() -> None:
    states = ProducerStates()
    states.update(in_transaction(0), 10)
    ended = states.end_transaction(marker(epoch=1), 11, timestamp=9)
    assert ended is not None
    assert error_of(states, in_transaction(1)) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert error_of(states, in_transaction(1, epoch=1)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert states.check(in_transaction(0, epoch=1)) is None


def test_markers_of_old_producers_and_coordinators_are_fenced() -> None:
    states = ProducerStates()
    states.check_marker(marker())
    states.update(in_transaction(0, epoch=4), 10)
    states.end_transaction(marker(epoch=4, coordinator=6), 11, timestamp=9)
    assert marker_error(states, marker(epoch=3, coordinator=6)) == ErrorCode.INVALID_PRODUCER_EPOCH
    code = marker_error(states, marker(epoch=4, coordinator=5))
    assert code == ErrorCode.TRANSACTION_COORDINATOR_FENCED
    states.check_marker(marker(epoch=4, coordinator=6))
    states.check_marker(marker(epoch=5, coordinator=7))


def test_from_transaction_version_2_on_a_late_marker_is_refused() -> None:
    states = ProducerStates()
    states.update(in_transaction(0, epoch=4), 10)
    late = marker_error(states, marker(epoch=4, version=2))
    assert late == ErrorCode.INVALID_PRODUCER_EPOCH
    states.check_marker(marker(epoch=5, version=2))
    states.check_marker(marker(epoch=4, version=1))


def test_a_batch_outside_of_the_open_transaction_of_its_producer_is_refused() -> None:
    states = ProducerStates()
    states.update(in_transaction(0), 10)
    assert error_of(states, header(1)) == ErrorCode.INVALID_TXN_STATE
    assert error_of(states, header(0, epoch=1)) == ErrorCode.INVALID_TXN_STATE
    assert states.check(header(0, producer=8)) is None
    states.end_transaction(marker(), 11, timestamp=9)
    assert states.check(header(1)) is None


def test_a_duplicate_is_found_before_anything_else_is_wrong_with_it() -> None:
    states = ProducerStates()
    states.update(in_transaction(0), 10)
    assert states.check(header(0)) == Duplicate(10, 10, 1000)


def test_replicated_markers_are_read_from_their_bytes() -> None:
    states = ProducerStates()
    states.update(in_transaction(0), 10)
    data = build_marker(marker(coordinator=8), 77)
    stamp(data, 0, base_offset=12, leader_epoch=0)
    behind_another = bytes(5) + data
    ended = states.note(read_batch_header(data), behind_another, 5)
    assert ended == EndedTransaction(7, 10, 12, 13, is_aborted=True)
    (known,) = states.snapshot_entries()
    assert (known.coordinator_epoch, known.timestamp) == (8, 77)


def test_a_marker_that_compaction_emptied_changes_nothing() -> None:
    states = ProducerStates()
    states.update(in_transaction(0), 10)
    options = BatchOptions(producer_id=7, producer_epoch=0, is_transactional=True, is_control=True)
    data = build_batch([], options)
    assert states.note(read_batch_header(data), data, 0) is None
    assert states.first_open_offset == 10


def test_replicated_batches_of_an_older_epoch_are_taken_as_the_leader_has_them() -> None:
    states = ProducerStates()
    states.update(header(0, epoch=5), 0)
    states.note(header(3, epoch=4, offset=1), b"", 0)
    assert states.snapshot_entries() == [ProducerEntry(7, 4, 3, 1, 0, 1000, -1, -1)]


def test_a_transaction_is_late_when_its_producer_is_silent_for_too_long() -> None:
    states = ProducerStates([entry(transaction_first_offset=104, timestamp=5)])
    assert not states.has_late_transaction(300_105, 100)
    assert states.has_late_transaction(300_106, 100)
    assert not ProducerStates().has_late_transaction(300_106, 100)


def test_open_transactions_of_a_snapshot_come_in_order() -> None:
    entries = [ProducerEntry(1, 0, 0, 9, 0, 5, -1, 9), ProducerEntry(2, 0, 0, 8, 0, 5, -1, 8)]
    states = ProducerStates(entries)
    assert states.first_open_offset == 8
    ended = states.end_transaction(marker(producer=2), 10, timestamp=9)
    assert ended == EndedTransaction(2, 8, 10, 9, is_aborted=True)


def test_what_a_snapshot_needs_is_one_batch_per_producer() -> None:
    states = ProducerStates()
    for index in range(3):
        states.update(header(index), index)
    small = states.for_snapshots()
    assert small.snapshot_entries() == states.snapshot_entries()
    small.update(header(3), 3)
    assert error_of(small, header(2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_forgetting_spares_producers_with_an_open_transaction() -> None:
    states = ProducerStates()
    states.update(in_transaction(0), 10)
    states.forget([7, 8])
    assert len(states) == 1


# Verified transactions; ``test_verification`` has the rest.


def test_a_batch_is_taken_with_its_guard_alone_and_a_repeated_one_without() -> None:
    states = ProducerStates()
    with pytest.raises(KafkaError, match="INVALID_TXN_STATE"):
        states.check(in_transaction(0), VerificationGuard())
    guard = states.begin_verification(7, 0, 0, raises_epochs=False, now_ms=0)
    assert states.check(in_transaction(0), guard) is None
    states.update(in_transaction(0), 10)
    assert states.begin_verification(7, 0, 1, raises_epochs=False, now_ms=0) is ALREADY_OPEN
    assert states.check(in_transaction(1), ALREADY_OPEN) is None
    states.end_transaction(marker(), 11, timestamp=9)
    assert states.check(in_transaction(0), ALREADY_OPEN) == Duplicate(10, 10, 1000)
    with pytest.raises(KafkaError, match="INVALID_TXN_STATE"):
        states.check(in_transaction(1), ALREADY_OPEN)


def test_a_fenced_epoch_is_told_so_whatever_it_brings() -> None:
    states = ProducerStates()
    guard = states.begin_verification(7, 0, 0, raises_epochs=False, now_ms=0)
    states.update(in_transaction(0, epoch=1), 10)
    fenced = in_transaction(0)
    for refused in (
        lambda: states.check(fenced, guard),
        lambda: states.check_epoch(fenced, guard),
        lambda: states.check_epoch(fenced),
        lambda: states.begin_verification(7, 0, 0, raises_epochs=False, now_ms=0),
    ):
        with pytest.raises(KafkaError, match="INVALID_PRODUCER_EPOCH"):
            refused()
    states.check_epoch(in_transaction(9, epoch=1), ALREADY_OPEN)
    states.check_epoch(in_transaction(9, producer=8))
    with pytest.raises(KafkaError, match="INVALID_TXN_STATE"):
        states.check_epoch(in_transaction(0, epoch=2), ALREADY_OPEN)


def test_with_a_guard_the_first_batch_of_a_producer_is_the_lowest_that_was_seen() -> None:
    states = ProducerStates()
    states.begin_verification(7, 0, 3, raises_epochs=False, now_ms=0)
    guard = states.begin_verification(7, 0, 4, raises_epochs=False, now_ms=0)
    with pytest.raises(KafkaError, match="OUT_OF_ORDER_SEQUENCE_NUMBER"):
        states.check(in_transaction(4), guard)
    assert states.check(in_transaction(3), guard) is None


def test_verifications_go_with_time_with_data_and_with_markers() -> None:
    def verified() -> tuple[ProducerStates, VerificationGuard]:
        states = ProducerStates()
        return states, states.begin_verification(7, 0, 0, raises_epochs=False, now_ms=0)

    states, guard = verified()
    assert states.expire(DAY_MS - 1, DAY_MS) == []
    assert states.is_verified(7, 0, guard)
    states.expire(DAY_MS, DAY_MS)
    assert not states.is_verified(7, 0, guard)
    states, guard = verified()
    states.end_transaction(marker(), 0, timestamp=9)
    assert not states.is_verified(7, 0, guard)
    states, guard = verified()
    states.update(header(0), 0)
    assert states.is_verified(7, 0, guard), "it was no batch of a transaction"
    states.update(in_transaction(1), 1)
    assert states.is_verified(7, 0, ALREADY_OPEN)
    assert not states.is_verified(7, 1, guard)


# What is found on a disk, or was left out of a snapshot.


def test_a_producer_without_times_counts_from_when_it_was_looked_at() -> None:
    states = ProducerStates([entry(timestamp=-1)])
    assert states.expire(5, DAY_MS) == []
    assert states.expire(DAY_MS + 4, DAY_MS) == []
    assert states.expire(DAY_MS + 5, DAY_MS) == [7]
    read = ProducerStates()
    assert read.note(header(0, timestamp=DAY_MS), b"", 0) is None
    assert read.expire(DAY_MS * 2 - 1, DAY_MS) == [], "times of records count without a clock"
    read.end_transaction(marker(), 1, timestamp=DAY_MS + 5)
    assert read.expire(DAY_MS * 2 + 4, DAY_MS) == []
    assert read.expire(DAY_MS * 2 + 5, DAY_MS) == [7]


def test_recalled_are_the_batches_of_the_producers_own_epoch_without_markers() -> None:
    states = ProducerStates([ProducerEntry(7, 1, 2, 14, 0, 1000, -1, -1)])
    control = header(0, epoch=1, offset=13, attributes=CONTROL_BIT)
    log = [
        header(0, epoch=0, offset=10),
        header(9, epoch=5, producer=8, offset=11),
        header(0, epoch=1, count=2, offset=11),
        control,
        header(2, epoch=1, offset=14),
    ]
    assert states.lacks_batches(14)
    assert not states.lacks_batches(15)
    states.recall(log)
    assert states.check(header(0, epoch=1, count=2)) == Duplicate(11, 12, 1000)
    assert error_of(states, header(0, epoch=1)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert len(states) == 1


def test_what_was_written_last_and_when_is_kept_of_each_batch() -> None:
    states = ProducerStates()
    states.update(header(0, count=2), 20, timestamp=555, now_ms=777)
    assert states.snapshot_entries() == [ProducerEntry(7, 0, 1, 21, 1, 555, -1, -1)]
    assert states.check(header(0, count=2)) == Duplicate(20, 21, 555)
    assert states.expire(777 + DAY_MS - 1, DAY_MS) == []
    states.end_transaction(marker(), 22, timestamp=600, now_ms=900)
    assert states.expire(900 + DAY_MS - 1, DAY_MS) == []
    assert states.expire(900 + DAY_MS, DAY_MS) == [7]


def test_an_aborted_transaction_is_late_by_its_oldest_producer_alone() -> None:
    timeless, younger = (ProducerEntry(n, 0, 0, 8 + n, 0, 5 * n, -1, 8 + n) for n in (0, 1))
    assert not ProducerStates([timeless, younger]).has_late_transaction(10**9, 100)
    assert ProducerStates([younger]).has_late_transaction(300_106, 100)
