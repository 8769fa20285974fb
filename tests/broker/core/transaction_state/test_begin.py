from __future__ import annotations

from dataclasses import replace

import pytest

from broker.core.transaction_state.begin import (
    AbortedFirst,
    BeginAsked,
    ProducerIdAndEpoch,
    begun,
    needs_producer_id,
)
from broker.core.transaction_state.metadata import (
    EPOCH_MAX,
    TransactionMetadata,
    TransactionState,
)
from protocol.errors import ErrorCode
from protocol.ids import NO_PRODUCER_EPOCH

KNOWN = TransactionMetadata(
    transactional_id="pay", producer_id=7, producer_epoch=3, timeout_ms=60_000, updated_ms=100
)
NEW_ID = 50


def begin(
    known: TransactionMetadata | None,
    expected: ProducerIdAndEpoch | None = None,
    *,
    version: int = 0,
) -> TransactionMetadata | AbortedFirst | ErrorCode:
    asked = BeginAsked("pay", 1000, expected)
    return begun(
        known,
        asked,
        new_producer_id=NEW_ID if needs_producer_id(known, asked) else -1,
        transaction_version=version,
        wall_ms=200,
    )


def producer(known: TransactionMetadata | AbortedFirst | ErrorCode) -> tuple[int, int]:
    assert isinstance(known, TransactionMetadata)
    return known.producer_id, known.producer_epoch


def test_a_new_transactional_id_gets_a_new_producer_id_at_epoch_zero() -> None:
    assert producer(begin(None)) == (NEW_ID, 0)


def test_one_that_recovers_and_is_not_known_any_more_gets_a_new_producer_id() -> None:
    assert producer(begin(None, ProducerIdAndEpoch(7, 3))) == (NEW_ID, 0)


@pytest.mark.parametrize(
    "state",
    [TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT],
)
def test_who_starts_again_fences_who_was_there_before(state: TransactionState) -> None:
    known = replace(KNOWN, state=state)
    assert producer(begin(known)) == (7, 4)
    assert producer(begin(known, ProducerIdAndEpoch(7, 3))) == (7, 4)


@pytest.mark.parametrize("expected", [ProducerIdAndEpoch(7, 2), ProducerIdAndEpoch(6, 3)])
def test_another_epoch_or_producer_id_is_fenced(expected: ProducerIdAndEpoch) -> None:
    assert begin(KNOWN, expected) is ErrorCode.PRODUCER_FENCED


def test_a_retry_gets_the_same_answer_again() -> None:
    raised = begin(KNOWN, ProducerIdAndEpoch(7, 3))
    assert isinstance(raised, TransactionMetadata)
    assert producer(begin(raised, ProducerIdAndEpoch(7, 3))) == (7, 4)


@pytest.mark.parametrize("state", [TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT])
def test_who_comes_while_markers_are_written_asks_again(state: TransactionState) -> None:
    assert begin(replace(KNOWN, state=state)) is ErrorCode.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize("version", [0, 1, 2])
def test_an_open_transaction_is_aborted_first_in_an_epoch_that_nobody_has(version: int) -> None:
    aborted = begin(replace(KNOWN, state=TransactionState.ONGOING), version=version)
    assert isinstance(aborted, AbortedFirst)
    assert aborted.metadata.state is TransactionState.PREPARE_ABORT
    assert aborted.metadata.producer_epoch == 4


def test_epochs_that_are_used_up_lead_to_another_producer_id() -> None:
    used_up = replace(KNOWN, producer_epoch=EPOCH_MAX - 1)
    assert producer(begin(used_up)) == (NEW_ID, 0)
    rotated = begin(used_up, ProducerIdAndEpoch(7, EPOCH_MAX - 1))
    assert producer(rotated) == (NEW_ID, 0)
    assert isinstance(rotated, TransactionMetadata)
    assert producer(begin(rotated, ProducerIdAndEpoch(7, EPOCH_MAX - 1))) == (NEW_ID, 0)
    assert begin(used_up, ProducerIdAndEpoch(7, 5)) is ErrorCode.PRODUCER_FENCED


def test_a_fence_in_the_last_epoch_leads_to_another_producer_id() -> None:
    fenced = replace(KNOWN, producer_epoch=EPOCH_MAX, state=TransactionState.COMPLETE_ABORT)
    assert producer(begin(fenced)) == (NEW_ID, 0)


def test_who_has_no_epoch_yet_gets_the_first() -> None:
    unused = replace(KNOWN, producer_epoch=NO_PRODUCER_EPOCH)
    assert producer(begin(unused, ProducerIdAndEpoch(1, 1))) == (7, 0)


def test_who_recovers_with_its_next_id_before_the_markers_are_written_asks_again() -> None:
    known = replace(KNOWN, state=TransactionState.PREPARE_COMMIT, next_producer_id=NEW_ID)
    expected = ProducerIdAndEpoch(NEW_ID, 0)
    assert begin(known, expected) is ErrorCode.CONCURRENT_TRANSACTIONS
    at_rest = replace(known, state=TransactionState.COMPLETE_COMMIT)
    assert begin(at_rest, expected) is ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize(
    "state",
    [TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT],
)
def test_no_producer_id_is_spent_on_who_is_to_ask_again(state: TransactionState) -> None:
    known = replace(KNOWN, producer_epoch=EPOCH_MAX - 1, state=state)
    assert not needs_producer_id(known, BeginAsked("pay", 1000))
    at_rest = replace(known, state=TransactionState.COMPLETE_ABORT)
    assert needs_producer_id(at_rest, BeginAsked("pay", 1000))


def test_an_open_transaction_in_the_last_epoch_but_one_is_aborted_all_the_same() -> None:
    last = replace(KNOWN, producer_epoch=EPOCH_MAX - 1, state=TransactionState.ONGOING)
    aborted = begin(last)
    assert isinstance(aborted, AbortedFirst)
    assert aborted.metadata.producer_epoch == EPOCH_MAX


def test_who_goes_on_by_an_earlier_producer_id_must_have_used_up_its_epochs() -> None:
    rotated = replace(KNOWN, producer_id=NEW_ID, producer_epoch=0, previous_producer_id=7)
    rotated = replace(rotated, last_producer_epoch=EPOCH_MAX - 1)
    assert producer(begin(rotated, ProducerIdAndEpoch(7, EPOCH_MAX - 1))) == (NEW_ID, 0)
    for expected in (ProducerIdAndEpoch(7, EPOCH_MAX - 2), ProducerIdAndEpoch(6, EPOCH_MAX - 1)):
        assert begin(rotated, expected) is ErrorCode.PRODUCER_FENCED


def test_what_is_asked_for_counts_from_now_on() -> None:
    for known in (None, KNOWN, replace(KNOWN, producer_epoch=EPOCH_MAX - 1)):
        following = begin(known)
        assert isinstance(following, TransactionMetadata)
        assert (following.timeout_ms, following.updated_ms) == (1000, 200)
        assert following.state is TransactionState.EMPTY
