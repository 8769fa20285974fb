"""What the contracts of transactional ids say of wrong rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from broker.core.transaction_state import begin, end, metadata
from broker.core.transaction_state.begin import AbortedFirst, BeginAsked, ProducerIdAndEpoch
from broker.core.transaction_state.end import EndAsked, EndedAlready
from broker.core.transaction_state.metadata import TransactionMetadata
from broker.core.transaction_state.metadata import TransactionState as State
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.simulation.contracts.wrong_rules import answers, told_of

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
EMPTY = TransactionMetadata(
    transactional_id="pay", producer_id=7, producer_epoch=3, timeout_ms=50, updated_ms=10
)
OPEN = replace(EMPTY, state=State.ONGOING, partitions=(A0,), started_ms=11)
ENDING = replace(OPEN, state=State.PREPARE_COMMIT, client_transaction_version=2)
DONE = replace(EMPTY, state=State.COMPLETE_COMMIT)
USED_UP = replace(EMPTY, producer_epoch=32_766)
NEW = BeginAsked("pay", 60)
AGAIN = BeginAsked("pay", 60, ProducerIdAndEpoch(7, 2))
Wrong = Callable[..., Any]


def begun(known: TransactionMetadata | None, asked: BeginAsked = NEW) -> Callable[[], object]:
    return lambda: begin.begun(known, asked, new_producer_id=9, transaction_version=0, wall_ms=20)


def asked_to_end(epoch: int = 3, *, is_commit: bool = True, version: int = 0) -> EndAsked:
    return EndAsked(7, epoch, is_commit, version)


def ended(known: TransactionMetadata | None, asked: EndAsked) -> Callable[[], object]:
    return lambda: end.ended(known, asked, new_producer_id=9, wall_ms=20)


def add() -> TransactionMetadata:
    return metadata.with_partitions(OPEN, [A1, A0], client_transaction_version=0, wall_ms=20)


RAISED = replace(EMPTY, producer_epoch=4, previous_producer_id=7, timeout_ms=60, updated_ms=20)
ADDED = replace(OPEN, partitions=(A0, A1), previous_producer_id=7, updated_ms=20)
ABORTING = replace(OPEN, state=State.PREPARE_ABORT, previous_producer_id=7, updated_ms=20)
COMMITTING = replace(ABORTING, state=State.PREPARE_COMMIT)
MAPPING, FENCED = ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.PRODUCER_FENCED
WAITS, STATE = ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.INVALID_TXN_STATE

WRONG_RULES: Final[list[tuple[str, Wrong | property, Callable[[], object]]]] = [
    ("TransactionMetadata.will_be", answers(value=True), lambda: OPEN.will_be(7)),
    (
        "TransactionMetadata.will_be",
        answers(value=False),
        lambda: replace(ENDING, next_producer_id=9).will_be(9),
    ),
    ("TransactionMetadata.deadline_ms", property(answers(60)), lambda: OPEN.deadline_ms),
    ("TransactionMetadata.deadline_ms", property(answers(61)), lambda: DONE.deadline_ms),
    (
        "begin.needs_producer_id",
        answers(value=False),
        lambda: begin.needs_producer_id(USED_UP, NEW),
    ),
    (
        "begin.needs_producer_id",
        answers(value=True),
        lambda: begin.needs_producer_id(EMPTY, NEW),
    ),
    ("begin.begun", answers(replace(RAISED, producer_epoch=3)), begun(EMPTY)),
    ("begin.begun", answers(replace(RAISED, timeout_ms=50)), begun(EMPTY)),
    ("begin.begun", answers(RAISED), begun(OPEN)),
    ("begin.begun", answers(RAISED), begun(EMPTY, AGAIN)),
    ("begin.begun", answers(AbortedFirst(ABORTING)), begun(ENDING)),
    ("begin.begun", answers(FENCED), begun(USED_UP)),
    ("begin.begun", answers(RAISED), begun(None)),
    ("metadata.with_partitions", answers(replace(ADDED, started_ms=20)), add),
    ("metadata.with_partitions", answers(replace(ADDED, partitions=(A0, A1, A0))), add),
    (
        "end.aborted_by_coordinator",
        answers(ABORTING),
        lambda: end.aborted_by_coordinator(OPEN, 0, 20),
    ),
    (
        "end.aborted_by_coordinator",
        answers(replace(ABORTING, producer_epoch=5, client_transaction_version=2)),
        lambda: end.aborted_by_coordinator(OPEN, 2, 20),
    ),
    (
        "metadata.completed",
        answers(replace(DONE, partitions=(A0,))),
        lambda: metadata.completed(ENDING, 20),
    ),
    (
        "metadata.completed",
        answers(replace(ENDING, state=State.COMPLETE_COMMIT, partitions=())),
        lambda: metadata.completed(replace(ENDING, next_producer_id=9), 20),
    ),
    (
        "end.may_need_producer_id",
        answers(value=False),
        lambda: end.may_need_producer_id(USED_UP, asked_to_end(version=2)),
    ),
    (
        "end.may_need_producer_id",
        answers(value=True),
        lambda: end.may_need_producer_id(USED_UP, asked_to_end(version=1)),
    ),
    ("end.ended", answers(STATE), ended(OPEN, asked_to_end())),
    ("end.ended", answers(replace(COMMITTING, producer_epoch=4)), ended(OPEN, asked_to_end())),
    ("end.ended", answers(COMMITTING), ended(OPEN, asked_to_end(version=2))),
    ("end.ended", answers(COMMITTING), ended(OPEN, asked_to_end(is_commit=False))),
    ("end.ended", answers(COMMITTING), ended(OPEN, asked_to_end(2))),
    ("end.ended", answers(COMMITTING), ended(OPEN, EndAsked(8, 3, True, 0))),
    ("end.ended", answers(COMMITTING), ended(EMPTY, asked_to_end())),
    ("end.ended", answers(FENCED), ended(None, asked_to_end())),
    ("end.ended", answers(STATE), ended(DONE, asked_to_end())),
    ("end.ended", answers(EndedAlready(-1, -1)), ended(DONE, asked_to_end(is_commit=False))),
    ("end.ended", answers(EndedAlready(7, 3)), ended(ENDING, asked_to_end(2, version=2))),
    ("end.ended", answers(EndedAlready(7, 2)), ended(DONE, asked_to_end(2, version=2))),
    ("end.ended", answers(MAPPING), ended(replace(ENDING, next_producer_id=9), asked_to_end())),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong | property, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)


def test_an_id_that_comes_before_its_markers_waits() -> None:
    known = replace(ENDING, next_producer_id=9)
    assert told_of(None, "end.ended", ended(known, EndAsked(9, 0, True, 2))) == []
    assert told_of(answers(MAPPING), "end.ended", ended(known, EndAsked(9, 0, True, 2)))
    assert WAITS is end.ended(known, EndAsked(9, 0, True, 2), new_producer_id=-1, wall_ms=1)
