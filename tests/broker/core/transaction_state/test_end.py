from __future__ import annotations

from dataclasses import replace

import pytest

from broker.core.transaction_state.end import (
    End,
    EndAsked,
    EndedAlready,
    aborted_by_coordinator,
    ended,
    may_need_producer_id,
)
from broker.core.transaction_state.metadata import (
    EPOCH_MAX,
    TransactionMetadata,
    TransactionState,
    completed,
)
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition

S = TransactionState
KNOWN = TransactionMetadata(
    transactional_id="pay",
    producer_id=7,
    producer_epoch=3,
    timeout_ms=60_000,
    state=S.ONGOING,
    partitions=(TopicPartition("a", 0),),
    started_ms=100,
    updated_ms=100,
)
FENCED, INVALID = ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_TXN_STATE
BUSY, NOT_MAPPED = ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.INVALID_PRODUCER_ID_MAPPING
NEW_ID = 50


def end(
    known: TransactionMetadata | None, *, commits: bool, epoch: int = 3, version: int, of: int = 7
) -> End:
    asked = EndAsked(of, epoch, commits, version)
    new_id = NEW_ID if may_need_producer_id(known, asked) else -1
    return ended(known, asked, new_producer_id=new_id, wall_ms=200)


def short(result: End) -> S | str | ErrorCode:
    if isinstance(result, TransactionMetadata):
        return result.state
    return "again" if isinstance(result, EndedAlready) else result


@pytest.mark.parametrize("version", [0, 2])
def test_who_is_not_known_or_has_another_producer_id_is_not_mapped(version: int) -> None:
    assert end(None, commits=True, version=version) is NOT_MAPPED
    assert end(KNOWN, commits=True, version=version, of=8) is NOT_MAPPED


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("epoch", [2, 4])
def test_another_epoch_ends_no_open_transaction(version: int, epoch: int) -> None:
    assert end(KNOWN, commits=True, epoch=epoch, version=version) is FENCED


@pytest.mark.parametrize("version", [0, 2])
def test_an_open_transaction_is_committed_or_aborted(version: int) -> None:
    assert short(end(KNOWN, commits=True, version=version)) is S.PREPARE_COMMIT
    assert short(end(KNOWN, commits=False, version=version)) is S.PREPARE_ABORT


@pytest.mark.parametrize(
    ("state", "commit", "abort"),
    [
        (S.EMPTY, INVALID, INVALID),
        (S.PREPARE_COMMIT, BUSY, INVALID),
        (S.PREPARE_ABORT, INVALID, BUSY),
        (S.COMPLETE_COMMIT, "again", INVALID),
        (S.COMPLETE_ABORT, INVALID, "again"),
    ],
)
def test_in_the_first_protocol_only_the_same_end_may_be_asked_for_again(
    state: S, commit: object, abort: object
) -> None:
    known = replace(KNOWN, state=state)
    assert short(end(known, commits=True, version=0)) == commit
    assert short(end(known, commits=False, version=0)) == abort


@pytest.mark.parametrize(
    ("state", "abort_retry", "abort_now", "commit_retry", "commit_now"),
    [
        (S.EMPTY, FENCED, S.PREPARE_ABORT, FENCED, INVALID),
        (S.COMPLETE_ABORT, "again", S.PREPARE_ABORT, INVALID, INVALID),
        (S.COMPLETE_COMMIT, INVALID, S.PREPARE_ABORT, "again", INVALID),
        (S.PREPARE_ABORT, BUSY, BUSY, INVALID, BUSY),
        (S.PREPARE_COMMIT, INVALID, BUSY, BUSY, BUSY),
    ],
)
def test_from_version_2_on_the_epoch_tells_a_retry_from_the_next_end(
    state: S, abort_retry: object, abort_now: object, commit_retry: object, commit_now: object
) -> None:
    known = replace(KNOWN, state=state, client_transaction_version=2)
    found = [
        short(end(known, commits=commits, epoch=epoch, version=2))
        for commits in (False, True)
        for epoch in (2, 3)
    ]
    assert found == [abort_retry, abort_now, commit_retry, commit_now]


def test_a_retry_is_told_what_the_producer_goes_on_with() -> None:
    known = replace(KNOWN, state=S.COMPLETE_COMMIT, client_transaction_version=2)
    assert end(known, commits=True, epoch=2, version=2) == EndedAlready(7, 3)


@pytest.mark.kafka_bug("epoch-of-a-successor")
@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(
    "state", [S.COMPLETE_COMMIT, S.COMPLETE_ABORT, S.PREPARE_COMMIT, S.PREPARE_ABORT]
)
def test_who_was_put_out_does_not_pass_for_its_successor_that_speaks_an_earlier_version(
    state: S, version: int
) -> None:
    """Seed 982436: both went on in one epoch, and a transaction that was committed was not there.

    Apache Kafka 4.3.1 answers NONE, with the successor's epoch.
    """
    known = replace(KNOWN, state=state, client_transaction_version=version)
    for commits in (True, False):
        assert end(known, commits=commits, epoch=2, version=2) is FENCED


def test_a_retry_after_the_last_epoch_is_told_of_the_new_producer_id() -> None:
    known = replace(
        KNOWN,
        state=S.COMPLETE_COMMIT,
        producer_id=8,
        previous_producer_id=7,
        producer_epoch=0,
        client_transaction_version=2,
    )
    assert end(known, commits=True, epoch=EPOCH_MAX - 1, version=2) == EndedAlready(8, 0)


def test_the_last_epoch_ends_with_another_producer_id_to_follow() -> None:
    last = replace(KNOWN, producer_epoch=EPOCH_MAX - 1)
    decided = end(last, commits=True, epoch=EPOCH_MAX - 1, version=2)
    assert isinstance(decided, TransactionMetadata)
    assert (decided.next_producer_id, decided.producer_epoch) == (NEW_ID, EPOCH_MAX)
    assert not may_need_producer_id(
        last, EndAsked(7, EPOCH_MAX - 1, is_commit=True, client_transaction_version=0)
    )


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_coordinator_aborts_one_epoch_above_the_producers(version: int) -> None:
    aborted = aborted_by_coordinator(KNOWN, version, 300)
    assert (aborted.state, aborted.producer_epoch) == (S.PREPARE_ABORT, 4)
    assert aborted.partitions == KNOWN.partitions


@pytest.mark.kafka_bug("KAFKA-18575")
def test_a_producer_that_goes_on_with_its_next_id_waits_for_the_markers() -> None:
    """It was told the id when the end was decided; it is not fenced, and not unknown."""
    known = replace(KNOWN, producer_epoch=EPOCH_MAX - 1)
    prepared = end(known, commits=True, epoch=EPOCH_MAX - 1, version=2)
    assert isinstance(prepared, TransactionMetadata)
    assert prepared.next_producer_id == NEW_ID
    assert end(prepared, commits=True, epoch=0, version=2, of=NEW_ID) is BUSY
    done = completed(prepared, 300)
    assert (done.producer_id, done.producer_epoch) == (NEW_ID, 0)
    assert short(end(done, commits=False, epoch=0, version=2, of=NEW_ID)) is S.PREPARE_ABORT
    again = end(done, commits=True, epoch=EPOCH_MAX - 1, version=2)
    assert again == EndedAlready(NEW_ID, 0)


@pytest.mark.parametrize("epoch", [2, 4])
def test_from_version_2_on_too_another_epoch_ends_no_open_transaction(epoch: int) -> None:
    known = replace(KNOWN, client_transaction_version=2)
    for commits in (True, False):
        assert end(known, commits=commits, epoch=epoch, version=2) is FENCED


def test_only_the_last_epoch_of_the_producer_id_before_is_a_retry() -> None:
    known = replace(
        KNOWN,
        state=S.COMPLETE_COMMIT,
        producer_id=8,
        previous_producer_id=7,
        producer_epoch=0,
        client_transaction_version=2,
    )
    last = EPOCH_MAX - 1
    assert end(known, commits=True, epoch=last - 1, version=2) is NOT_MAPPED
    assert end(known, commits=True, epoch=last, version=2, of=6) is NOT_MAPPED
    went_on = replace(known, producer_epoch=1)
    assert end(went_on, commits=True, epoch=last, version=2) is NOT_MAPPED
    assert end(known, commits=False, epoch=last, version=2) is INVALID


@pytest.mark.parametrize("state", [S.PREPARE_COMMIT, S.PREPARE_ABORT])
def test_no_producer_id_is_spent_on_an_end_that_is_under_way(state: S) -> None:
    known = replace(KNOWN, state=state, producer_epoch=EPOCH_MAX)
    asked = EndAsked(7, EPOCH_MAX - 1, is_commit=True, client_transaction_version=2)
    assert not may_need_producer_id(known, asked)
    assert not may_need_producer_id(None, asked)
    assert may_need_producer_id(replace(known, state=S.ONGOING), asked)


def test_an_end_says_by_which_version_and_when_it_was_decided() -> None:
    for version in (0, 1, 2):
        decided = end(KNOWN, commits=True, version=version)
        assert isinstance(decided, TransactionMetadata)
        assert (decided.client_transaction_version, decided.updated_ms) == (version, 200)
        assert decided.next_producer_id == -1
