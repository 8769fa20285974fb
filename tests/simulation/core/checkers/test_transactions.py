"""Transactions are whole, as their producers were told: the anomalies that Jepsen names."""

from __future__ import annotations

from typing import Literal

import pytest

from simulation.core.checkers.transactions import TIMEOUT_US_MIN, check_transactions
from simulation.core.history import Function, Order, Txn
from simulation.core.samples import ClockSkew, Damage, Role
from simulation.workload import java_producer, transactional_producer
from tests.simulation.core.checkers.build import TP
from tests.simulation.core.checkers.transaction_story import OTHER, TransactionStory, send


def texts(story: TransactionStory) -> list[str]:
    return [violation.text for violation in check_transactions(story.evidence)]


def test_transactions_that_ended_as_they_were_told_are_fine() -> None:
    story = TransactionStory()
    story.txn(send(1, 0), send(2, 0, OTHER))
    story.begin_txn(send(3), send(4, tp=OTHER)).fail("aborted")
    story.begin_txn(send(5), send(6, tp=OTHER)).unknown("REQUEST_TIMED_OUT")
    story.ended_log((7, 1), "commit", (7, 3), "abort", (7, 5), "commit")
    story.ended_log((7, 2), "commit", (7, 4), "abort", (7, 6), "commit", tp=OTHER)

    assert texts(story) == []


def test_a_lost_write_is_told() -> None:
    story = TransactionStory()
    story.txn(send(1, 0), send(2, 1))
    story.ended_log((7, 1), "commit", (7, 2), "abort")

    assert texts(story) == [
        "lost write: the transaction of writer from record 1 on was committed, and its record 2 "
        "is aborted"
    ]


def test_a_transaction_that_hangs_after_its_commit_was_answered_is_told() -> None:
    story = TransactionStory()
    story.txn(send(1, 0))
    story.ended_log((7, 1))

    assert texts(story) == [
        "lost write: the transaction of writer from record 1 on was committed, and its record 1 "
        "is open"
    ]


def test_g1a_an_aborted_transaction_that_was_committed_is_told() -> None:
    story = TransactionStory()
    story.begin_txn(send(1)).fail("aborted")
    story.ended_log((7, 1), "commit")

    assert texts(story) == [
        "G1a: nobody asked to commit the transaction of writer from record 1 on (aborted), and "
        "its record 1 is committed"
    ]


def test_g1b_a_transaction_of_unknown_end_that_is_committed_in_part_is_told() -> None:
    story = TransactionStory()
    story.begin_txn(send(1), send(2, tp=OTHER)).unknown("REQUEST_TIMED_OUT")
    story.ended_log((7, 1), "commit")
    story.ended_log((7, 2), "abort", tp=OTHER)

    assert texts(story) == [
        "G1b: of the transaction of writer from record 1 on record 1 is committed, and record 2 "
        "is aborted"
    ]


@pytest.mark.parametrize("end", ["commit", "abort"])
def test_transactions_of_one_producer_that_one_marker_ended_are_told(
    end: Literal["commit", "abort"],
) -> None:
    story = TransactionStory()
    for record in (1, 2):
        if end == "commit":
            story.txn(send(record, record - 1))
        else:
            story.begin_txn(send(record)).fail("aborted")
    story.ended_log((7, 1), (7, 2), end)

    assert texts(story) == [
        "mixed: the transaction of writer from record 2 on is in orders-0 at offset 1, and the "
        "transaction of writer from record 1 on has no marker before it"
    ]


def test_g0_a_later_transaction_that_lies_before_an_earlier_one_is_told() -> None:
    story = TransactionStory()
    story.at(1)
    story.txn(send(1, 5))
    story.at(2)
    late = story.begin_txn(send(2), client="other")
    story.at(3)
    late.ok(Txn("other", (send(2, 3),)))

    assert texts(story) == [
        "G0: the transaction of other from record 2 on began after the transaction of writer from "
        "record 1 on was over, and wrote to orders-0 at offset 3, before it"
    ]


def test_what_a_lost_transaction_had_written_to_others_may_write_to() -> None:
    """The only member of the Isr loses power, and begins again with less."""
    story = TransactionStory()
    story.partition(isr=(1,), replicas=(1,))
    story.replica(1)
    story.at(1)
    story.txn(send(1, 5))
    story.samples.damages.append(Damage(2_000_000, 1, "d1", "power cut"))
    story.at(3)
    late = story.begin_txn(send(2), client="other")
    story.at(4)
    late.ok(Txn("other", (send(2, 3),)))
    story.ended_log((3, 2), "commit")

    assert [text for text in texts(story) if "G0" in text] == []


def test_a_topic_that_was_made_anew_has_its_first_offsets_again() -> None:
    story = TransactionStory()
    story.at(1)
    story.txn(send(1, 5))
    story.at(2).order(Function.DELETE_TOPIC, Order(TP.topic))
    story.at(3)
    late = story.begin_txn(send(2), client="other")
    story.at(4)
    late.ok(Txn("other", (send(2, 3),)))
    story.ended_log((3, 2), "commit")

    assert [text for text in texts(story) if "G0" in text] == []


def test_transactions_that_go_on_at_once_may_lie_in_any_order() -> None:
    story = TransactionStory()
    story.at(1)
    first = story.begin_txn(send(1))
    story.at(2)
    story.txn(send(2, 3), client="other")
    story.at(3)
    first.ok(Txn("writer", (send(1, 5),)))

    assert texts(story) == []


def test_nothing_is_promised_once_a_coordinator_may_have_forgotten() -> None:
    story = TransactionStory()
    state = TP._replace(topic="__transaction_state")
    story.partition(isr=(1,), replicas=(1,), tp=state)
    story.replica(1, tp=state)
    story.samples.damages.append(Damage(1, 1, "d1", "power cut"))
    story.txn(send(1, 0))
    story.ended_log((7, 1), "abort")

    assert texts(story) == []


def test_a_commit_that_is_refused_without_need_is_told() -> None:
    story = TransactionStory()
    story.refused_commit(after_s=0.5)

    assert texts(story) == [
        "needless refusal: the commit of the transaction of writer from record 1 on was answered "
        "with INVALID_TXN_STATE after 500 ms, and nobody else can have ended it"
    ]


@pytest.mark.parametrize(
    ("after_s", "is_alone", "error"),
    [
        pytest.param(3, True, "INVALID_TXN_STATE", id="its coordinator may have aborted it"),
        pytest.param(0.5, False, "INVALID_TXN_STATE", id="an older request may have come late"),
        pytest.param(0.5, True, "PRODUCER_FENCED", id="another code"),
    ],
)
def test_a_commit_may_be_refused(after_s: float, is_alone: bool, error: str) -> None:
    story = TransactionStory()
    story.refused_commit(after_s, is_alone=is_alone, error=error)

    assert texts(story) == []


def test_a_coordinator_that_has_a_successor_and_has_not_heard_so_may_refuse() -> None:
    story = TransactionStory()
    state = TP._replace(topic="__transaction_state")
    story.replica(1, Role.LEADER, tp=state)
    story.replica(2, tp=state)
    story.at(0.2).replica(2, Role.LEADER, tp=state, epoch=1)
    story.refused_commit(after_s=0.5)
    assert texts(story) == []

    story.samples.replicas.pop()
    assert len(texts(story)) == 1


def test_by_a_changed_clock_a_transaction_may_have_lasted_longer() -> None:
    story = TransactionStory()
    story.samples.clock_skews.append(ClockSkew(0, "broker-1", 60_000))
    story.refused_commit(after_s=0.5)

    assert texts(story) == []


def test_no_producer_of_a_workload_has_its_transactions_aborted_sooner() -> None:
    for module in (java_producer, transactional_producer):
        assert module.TRANSACTION_TIMEOUT_MS * 1000 >= TIMEOUT_US_MIN
