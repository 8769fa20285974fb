"""What consumers get: the anomalies that Jepsen names, on histories."""

from __future__ import annotations

import pytest

from simulation.core.checkers.polls import check_polls
from simulation.core.history import Function, Order, Poll
from simulation.core.samples import Role
from tests.simulation.core.checkers.build import TP
from tests.simulation.core.checkers.transaction_story import OTHER, TransactionStory, send


def texts(story: TransactionStory) -> list[str]:
    return [violation.text for violation in check_polls(story.evidence)]


def test_readers_that_get_each_committed_record_once_in_order_are_fine() -> None:
    story = TransactionStory()
    story.txn(send(1, 0), send(2, 1))
    story.begin_txn(send(3)).fail("aborted")
    story.txn(send(4, 5))
    story.ended_log((7, 1), (7, 2), "commit", (7, 3), "abort", (7, 4), "commit")
    story.assign("reader")
    story.poll("reader", (0, 1), (1, 2))
    story.poll("reader", (5, 4))
    story.assign("other")
    story.poll("other", (0, 1), (1, 2), (3, 3), (5, 4), is_committed=False)
    story.assign("other")
    story.poll("other", (0, 1), is_committed=False)

    assert texts(story) == []


def test_g1a_a_record_that_nobody_asked_to_commit_is_told() -> None:
    story = TransactionStory()
    story.begin_txn(send(1)).fail("aborted")
    story.assign("reader")
    story.poll("reader", (0, 1))

    assert texts(story) == [
        "G1a: reader was given record 1 at orders-0 offset 0, which was never committed"
    ]


def test_g1a_a_record_whose_transaction_was_aborted_in_the_log_is_told() -> None:
    story = TransactionStory()
    story.ended_log((7, 1), "abort")
    story.assign("reader")
    story.poll("reader", (0, 1))

    assert texts(story) == ["G1a: reader was given orders-0 offset 0, which is not committed"]


def test_g1b_a_part_of_a_transaction_is_told() -> None:
    story = TransactionStory()
    story.txn(send(1, 0), send(2, 1), send(3, 2))
    story.assign("reader")
    story.poll("reader", (0, 1), (2, 3))

    assert texts(story) == [
        "G1b: reader was not given orders-0 offset 1, of a transaction of writer"
    ]


def test_a_poll_skip_is_told() -> None:
    story = TransactionStory()
    story.ended_log((-1, 1), (-1, 2), (-1, 3))
    story.assign("reader")
    story.poll("reader", (0, 1))
    story.poll("reader", (2, 3))

    assert texts(story) == [
        "poll skip: reader was not given orders-0 offset 1, and was given later ones"
    ]


def test_a_library_forgets_what_a_poll_would_have_brought_beside_a_damaged_batch() -> None:
    """As aiokafka does, whose positions are behind it by then (seed 694046)."""
    story = TransactionStory()
    story.ended_log((-1, 1), (-1, 2), (-1, 3))
    story.assign("reader")
    story.poll("reader", (0, 1))
    polling = story.history.begin("reader", Function.POLL, Poll(-1, ()))
    polling.fail("CORRUPT_MESSAGE")
    story.poll("reader", (2, 3))

    assert texts(story) == []


@pytest.mark.parametrize(("has_heard", "is_told"), [(False, False), (True, True)])
def test_a_reader_that_a_former_leader_misled_begins_anew(has_heard: bool, is_told: bool) -> None:
    story = TransactionStory()
    story.ended_log((-1, 1), (-1, 2))
    story.at(1).replica(2, Role.LEADER, epoch=1)
    story.replica(1, Role.FOLLOWER if has_heard else Role.LEADER, epoch=int(has_heard))
    story.assign("reader")
    story.poll("reader", (0, 1), (1, 2))
    story.at(2).history.begin("reader", Function.POLL, Poll(-1, ())).fail("OFFSET_OUT_OF_RANGE")
    story.poll("reader", (0, 1))
    story.poll("reader", (1, 2))
    story.poll("reader")

    assert bool(texts(story)) is is_told


def test_a_reader_that_was_misled_once_goes_on_from_there() -> None:
    story = TransactionStory()
    story.ended_log((-1, 1), (-1, 2))
    story.at(1).replica(2, Role.LEADER, epoch=1)
    story.replica(1, Role.LEADER)
    story.assign("reader")
    story.poll("reader", (0, 1))
    story.at(2).history.begin("reader", Function.POLL, Poll(-1, ())).fail("OFFSET_OUT_OF_RANGE")
    story.poll("reader", (0, 1))
    story.poll("reader", (0, 1))

    assert len(texts(story)) == 1


def test_a_nonmonotonic_poll_is_told() -> None:
    story = TransactionStory()
    story.assign("reader")
    story.poll("reader", (5, 1))
    story.poll("reader", (5, 1))

    assert texts(story) == ["nonmonotonic poll: reader was given orders-0 offset 5 after offset 5"]


def test_a_duplicate_of_a_transactions_record_is_told() -> None:
    story = TransactionStory()
    story.begin_txn(send(1)).unknown("REQUEST_TIMED_OUT")
    story.assign("reader")
    story.poll("reader", (0, 1), (1, 1))

    assert texts(story) == ["duplicate: reader was given record 1 at orders-0 offset 1 and at 0"]


def test_where_records_were_deleted_a_reader_may_begin_anew() -> None:
    story = TransactionStory()
    story.assign("reader", TP, OTHER)
    story.poll("reader", (5, 1))
    story.order(Function.DELETE_RECORDS, Order("orders", 0, offset=7))
    story.poll("reader", (2, 1))

    assert texts(story) == []
