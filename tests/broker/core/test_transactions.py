"""Ended transactions: what is not replicated yet, and which were aborted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.core.transactions import (
    ABORTED_KEPT_MAX,
    EndedTransaction,
    EndedTransactions,
    EndMarker,
    build_marker,
    read_marker,
)
from protocol.records.batch import read_batch_header
from protocol.records.build import BatchOptions, NewRecord, build_batch


def ended(first: int, last: int, *, aborted: bool = True) -> EndedTransaction:
    return EndedTransaction(first, first, last, last + 1, is_aborted=aborted)


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_marker_is_read_as_it_was_built(is_commit: bool) -> None:
    marker = EndMarker(7, 3, 11, is_commit)
    data = build_marker(marker, 1234)
    header = read_batch_header(data)
    assert header.is_control
    assert header.is_transactional
    assert (header.base_sequence, header.max_timestamp) == (-1, 1234)
    assert read_marker(header, data, 0) == marker


def test_control_batches_that_end_nothing_are_no_markers() -> None:
    options = BatchOptions(producer_id=7, producer_epoch=3, is_transactional=True, is_control=True)
    leader_change = build_batch([NewRecord(b"", key=b"\0\0\0\2")], options)
    emptied = build_batch([], options)
    for data in (leader_change, emptied):
        assert read_marker(read_batch_header(data), data, 0) is None


def test_a_transaction_counts_until_its_marker_is_replicated() -> None:
    known = EndedTransactions()
    assert known.first_unreplicated_offset(0) == -1
    known.add(ended(5, 9, aborted=False), 4)
    known.add(ended(3, 12), 4)
    assert known.first_unreplicated_offset(9) == 3
    assert known.first_unreplicated_offset(10) == 3
    assert known.first_unreplicated_offset(12) == 3
    assert known.first_unreplicated_offset(13) == -1


def test_aborted_transactions_are_told_by_what_they_touch() -> None:
    known = EndedTransactions()
    first, second = ended(5, 9), ended(7, 12)
    for one in (first, ended(6, 10, aborted=False), second):
        known.add(one, 0)
    assert known.aborted_between(0, 100) == (first, second)
    assert known.aborted_between(9, 10) == (first, second)
    assert known.aborted_between(10, 11) == (second,)
    assert known.aborted_between(0, 7) == (first,)
    assert known.aborted_between(13, 20) == ()


def test_what_ended_before_is_on_disk() -> None:
    known = EndedTransactions(50)
    assert known.aborted_between(49, 60) is None
    assert known.aborted_between(50, 60) == ()


def test_truncation_forgets_markers_and_what_comes_then_is_known() -> None:
    known = EndedTransactions(50)
    known.add(ended(50, 51), 0)
    known.add(ended(52, 53), 0)
    known.truncate_from_end(53)
    assert known.aborted_between(50, 60) == (ended(50, 51),)
    assert known.first_unreplicated_offset(51) == 50
    known.truncate_from_end(40)
    assert known.aborted_between(40, 60) == ()
    known.restart_at(70)
    assert known.aborted_between(69, 80) is None


def test_memory_is_bounded_and_older_ones_are_asked_from_disk() -> None:
    known = EndedTransactions()
    for number in range(3 * ABORTED_KEPT_MAX):
        known.add(ended(2 * number, 2 * number + 1), 2 * number)
    assert known.aborted_between(0, 10) is None
    newest = 6 * ABORTED_KEPT_MAX - 2
    assert known.aborted_between(newest, newest + 1) == (ended(newest, newest + 1),)


@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), max_size=30), st.integers(0, 80))
def test_memory_answers_as_a_list_of_all_would(steps: list[tuple[int, bool]], start: int) -> None:
    known, everything = EndedTransactions(), list[EndedTransaction]()
    offset = 0
    for back, aborted in steps:
        offset += 2
        one = ended(max(offset - back, 0), offset, aborted=aborted)
        known.add(one, 0)
        everything.append(one)
    end = start + 7
    expected = [
        one
        for one in everything
        if one.is_aborted and one.last_offset >= start and one.first_offset < end
    ]
    assert list(known.aborted_between(start, end) or ()) == expected
    waiting = [one.first_offset for one in everything if one.last_offset >= start]
    assert known.first_unreplicated_offset(start) == min(waiting, default=-1)


def test_the_older_half_of_1024_aborted_transactions_is_asked_from_disk() -> None:
    known = EndedTransactions()
    for number in range(1_024):
        known.add(ended(2 * number, 2 * number + 1), 0)
    assert known.aborted_between(0, 1) == (ended(0, 1),)
    known.add(ended(2_048, 2_049), 0)
    assert known.aborted_between(1_023, 1_024) is None
    assert known.aborted_between(1_024, 1_025) == (ended(1_024, 1_025),)
    assert len(known.aborted_between(1_024, 3_000) or ()) == 513


def test_a_cut_tells_where_the_first_transaction_begins_that_is_open_again() -> None:
    known = EndedTransactions()
    for one in (ended(5, 9, aborted=False), ended(3, 12), ended(1, 15)):
        known.add(one, 0)
    assert known.truncate_from_end(16) == -1
    assert known.truncate_from_end(12) == 1
    assert known.first_unreplicated_offset(0) == 5
    assert known.truncate_from_end(9) == 5
    assert known.first_unreplicated_offset(0) == -1


def test_a_log_that_begins_anew_has_no_transactions() -> None:
    known = EndedTransactions()
    known.add(ended(5, 9), 0)
    known.restart_at(7)
    assert known.first_unreplicated_offset(0) == -1
    assert known.aborted_between(6, 20) is None
    assert known.aborted_between(7, 20) == ()
