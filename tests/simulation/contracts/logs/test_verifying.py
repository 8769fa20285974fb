"""What the contracts of verified partitions, markers and old clients say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.core.transaction_state import marker_progress, old_clients
from broker.core.transaction_state import verifying as rules
from broker.core.transaction_state.marker_progress import MarkerFate, MarkerProgress
from broker.core.transaction_state.shard import MarkersDue
from broker.core.transaction_state.verifying import (
    Refused,
    ToldCode,
    VerificationAsked,
    VerificationBatch,
    Verifying,
)
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.simulation.contracts.wrong_rules import answers, told_of

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
OLD, NEW, ADDING = Verifying.FOR_OLD_CLIENT, Verifying.FOR_NEW_CLIENT, Verifying.ADDING
FIRST = VerificationAsked("pay", 7, 3, (A0,), NEW)
SECOND = VerificationAsked("pay", 7, 3, (A1,), NEW)
EARLIER = VerificationAsked("pay", 7, 2, (A0,), NEW)
Wrong = Callable[..., Any]


def add(second: VerificationAsked) -> Callable[[], object]:
    def use() -> None:
        batch = VerificationBatch()
        batch.add(FIRST)
        batch.add(second)

    return use


def puts(refused: Refused | None) -> Wrong:
    def rule(batch: VerificationBatch, asked: VerificationAsked) -> Refused | None:
        batch._asked[asked.transactional_id] = asked
        return refused

    return rule


def progress() -> MarkerProgress:
    return MarkerProgress(MarkersDue("pay", 7, 3, True, (A0, A1), 0), 4)


def take() -> None:
    batch = VerificationBatch()
    batch.add(FIRST)
    batch.take()


FENCED, OLD_CODE = ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH
WAITS, ABORTABLE = ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.TRANSACTION_ABORTABLE
LOADS, NETWORK = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NETWORK_EXCEPTION

WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("verifying.verifying_of_produce", answers(NEW), lambda: rules.verifying_of_produce(12)),
    ("verifying.verifying_of_produce", answers(NEW), lambda: rules.verifying_of_produce(10)),
    (
        "verifying.verifying_of_offset_commit",
        answers(NEW),
        lambda: rules.verifying_of_offset_commit(5),
    ),
    (
        "verifying.verifying_of_offset_commit",
        answers(OLD),
        lambda: rules.verifying_of_offset_commit(4),
    ),
    ("VerificationBatch.add", puts(None), add(SECOND)),
    ("VerificationBatch.add", puts(Refused(FIRST, OLD_CODE)), add(SECOND)),
    ("VerificationBatch.add", puts(Refused(FIRST, OLD_CODE)), add(EARLIER)),
    ("VerificationBatch.take", answers([FIRST]), take),
    ("verifying.verified_code", answers(FENCED), lambda: rules.verified_code(FENCED, NEW)),
    ("verifying.verified_code", answers(ABORTABLE), lambda: rules.verified_code(ABORTABLE, OLD)),
    (
        "verifying.is_worth_retrying",
        answers(value=True),
        lambda: rules.is_worth_retrying([WAITS], NEW),
    ),
    (
        "verifying.is_worth_retrying",
        answers(value=False),
        lambda: rules.is_worth_retrying([ErrorCode.NONE, WAITS], ADDING),
    ),
    (
        "verifying.produce_refusal",
        answers(ToldCode(NETWORK, "")),
        lambda: rules.produce_refusal(NETWORK, ADDING),
    ),
    (
        "verifying.produce_refusal",
        answers(ToldCode(WAITS, "")),
        lambda: rules.produce_refusal(WAITS, NEW),
    ),
    (
        "verifying.offset_commit_refusal",
        answers(NETWORK),
        lambda: rules.offset_commit_refusal(NETWORK, ADDING),
    ),
    (
        "verifying.offset_commit_refusal",
        answers(LOADS),
        lambda: rules.offset_commit_refusal(WAITS, ADDING),
    ),
    (
        "marker_progress.fate_of",
        answers(MarkerFate.WRITTEN),
        lambda: marker_progress.fate_of(ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ),
    (
        "marker_progress.fate_of",
        answers(MarkerFate.AGAIN),
        lambda: marker_progress.fate_of(OLD_CODE),
    ),
    (
        "MarkerProgress.answered",
        answers(MarkerFate.WRITTEN),
        lambda: progress().answered(A0, ErrorCode.NONE),
    ),
    (
        "MarkerProgress.answered",
        answers(MarkerFate.OVER),
        lambda: progress().answered(A0, OLD_CODE),
    ),
    ("MarkerProgress.forget", answers(None), lambda: progress().forget([A1])),
    (
        "old_clients.fenced_code",
        answers(FENCED),
        lambda: old_clients.fenced_code("EndTxn", 1, FENCED),
    ),
    (
        "old_clients.fenced_code",
        answers(OLD_CODE),
        lambda: old_clients.fenced_code("InitProducerId", 4, FENCED),
    ),
    (
        "old_clients.client_transaction_version",
        answers(2),
        lambda: old_clients.client_transaction_version("EndTxn", 4),
    ),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
