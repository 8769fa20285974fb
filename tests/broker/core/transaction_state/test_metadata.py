from __future__ import annotations

from dataclasses import replace

import pytest

from broker.core.transaction_state.metadata import (
    EPOCH_MAX,
    TransactionMetadata,
    TransactionState,
    completed,
    fenced,
    is_epoch_exhausted,
    prepared,
    with_epoch_raised,
    with_next_producer_id,
    with_partitions,
)
from protocol.errors import ErrorCode
from protocol.ids import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
RESTING = TransactionMetadata(
    transactional_id="pay", producer_id=7, producer_epoch=3, timeout_ms=60_000, updated_ms=100
)


def ongoing(version: int = 0) -> TransactionMetadata:
    return with_partitions(RESTING, [A0], client_transaction_version=version, wall_ms=200)


def end(
    metadata: TransactionMetadata, *, commits: bool = True, next_id: int = -1, version: int = 0
) -> TransactionMetadata:
    return prepared(
        metadata,
        is_commit=commits,
        client_transaction_version=version,
        next_producer_id=next_id,
        wall_ms=300,
    )


def test_names_are_those_that_kafkas_tools_show() -> None:
    assert [state.kafka_name for state in TransactionState] == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]


def test_the_first_partition_begins_a_transaction_and_later_ones_join_it() -> None:
    begun = ongoing()
    assert (begun.state, begun.started_ms, begun.partitions) == (
        TransactionState.ONGOING,
        200,
        (A0,),
    )
    grown = with_partitions(begun, [A1, A0, B0], client_transaction_version=0, wall_ms=250)
    assert (grown.started_ms, grown.updated_ms) == (200, 250)
    assert grown.partitions == (A0, A1, B0)


def test_it_is_late_after_its_own_timeout_and_never_at_rest_or_in_two_phases() -> None:
    assert ongoing().deadline_ms == 60_200
    assert RESTING.deadline_ms is None
    assert end(ongoing()).deadline_ms is None
    assert replace(ongoing(), timeout_ms=2_147_483_647).deadline_ms is None
    assert replace(ongoing(), timeout_ms=2_147_483_646).deadline_ms == 2_147_483_846


@pytest.mark.parametrize(
    ("epoch", "last", "expected", "then"),
    [
        (NO_PRODUCER_EPOCH, NO_PRODUCER_EPOCH, None, (0, NO_PRODUCER_EPOCH)),
        (NO_PRODUCER_EPOCH, NO_PRODUCER_EPOCH, 9, (0, NO_PRODUCER_EPOCH)),
        (3, 2, None, (4, NO_PRODUCER_EPOCH)),
        (3, 2, 3, (4, 3)),
        (3, 2, 2, (3, 2)),
        (3, 2, 1, ErrorCode.PRODUCER_FENCED),
        (3, 2, 4, ErrorCode.PRODUCER_FENCED),
        (3, NO_PRODUCER_EPOCH, 2, ErrorCode.PRODUCER_FENCED),
    ],
)
def test_an_epoch_is_raised_for_whoever_has_it_and_told_again_to_whoever_did_not_hear(
    epoch: int, last: int, expected: int | None, then: tuple[int, int] | ErrorCode
) -> None:
    known = replace(RESTING, producer_epoch=epoch, last_producer_epoch=last)
    raised = with_epoch_raised(known, timeout_ms=5, expected_epoch=expected, wall_ms=9)
    if isinstance(raised, ErrorCode):
        assert raised is then
    else:
        assert (raised.producer_epoch, raised.last_producer_epoch) == then
        assert (raised.timeout_ms, raised.updated_ms, raised.started_ms) == (5, 9, -1)


def test_a_fence_raises_the_epoch_and_forgets_who_had_it() -> None:
    out = fenced(replace(ongoing(), last_producer_epoch=2))
    assert (out.producer_epoch, out.last_producer_epoch) == (4, NO_PRODUCER_EPOCH)
    assert (out.state, out.partitions) == (TransactionState.ONGOING, (A0,))


def test_epochs_end_one_before_the_highest_so_that_a_last_fence_is_possible() -> None:
    assert not is_epoch_exhausted(EPOCH_MAX - 2)
    assert is_epoch_exhausted(EPOCH_MAX - 1)
    assert fenced(replace(ongoing(), producer_epoch=EPOCH_MAX - 1)).producer_epoch == EPOCH_MAX


@pytest.mark.parametrize(("keeps", "last"), [(True, EPOCH_MAX - 1), (False, NO_PRODUCER_EPOCH)])
def test_when_epochs_are_used_up_another_producer_id_begins_at_epoch_zero(
    keeps: bool, last: int
) -> None:
    used_up = replace(RESTING, producer_epoch=EPOCH_MAX - 1)
    new = with_next_producer_id(used_up, 8, timeout_ms=5, keeps_last_epoch=keeps, wall_ms=9)
    assert (new.producer_id, new.producer_epoch, new.previous_producer_id) == (8, 0, 7)
    assert new.last_producer_epoch == last


def test_in_the_first_protocol_a_producer_keeps_its_epoch_through_commit_and_abort() -> None:
    for commits, states in (
        (True, (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)),
        (False, (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT)),
    ):
        decided = end(ongoing(), commits=commits)
        done = completed(decided, 400)
        assert (decided.state, done.state) == states
        assert (decided.producer_epoch, done.producer_epoch) == (3, 3)
        assert (decided.partitions, done.partitions) == ((A0,), ())
        assert (done.started_ms, done.updated_ms) == (200, 400)


def test_from_version_2_on_an_end_raises_the_epoch_and_remembers_the_one_before() -> None:
    decided = end(ongoing(2), version=2)
    assert (decided.producer_epoch, decided.last_producer_epoch) == (4, 3)
    done = completed(decided, 400)
    assert (done.producer_id, done.producer_epoch, done.last_producer_epoch) == (7, 4, 3)


def test_an_end_with_the_last_epoch_goes_on_with_the_next_producer_id_when_it_is_complete() -> None:
    last = replace(ongoing(2), producer_epoch=EPOCH_MAX - 1)
    decided = end(last, next_id=8, version=2)
    assert (decided.producer_id, decided.producer_epoch) == (7, EPOCH_MAX)
    done = completed(decided, 400)
    assert (done.producer_id, done.producer_epoch, done.previous_producer_id) == (8, 0, 7)
    assert (done.last_producer_epoch, done.next_producer_id) == (EPOCH_MAX - 1, NO_PRODUCER_ID)


def test_an_abort_of_nothing_begins_with_its_end() -> None:
    decided = end(RESTING, commits=False, version=2)
    assert (decided.started_ms, decided.partitions) == (300, ())
