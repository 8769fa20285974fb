"""Guards of verifications: what a leader may take after it asked the coordinator."""

from __future__ import annotations

import pytest

from broker.core.producer_entry import Duplicate
from broker.core.producers import ProducerStates
from broker.core.transactions import EndMarker
from broker.core.verification import ALREADY_OPEN, VerificationGuard, Verifications
from protocol.errors import ErrorCode, KafkaError
from protocol.records.batch import TRANSACTIONAL_BIT, BatchHeader
from tests.broker.core.producing import DAY_MS, header

PID = 7


def batch(sequence: int, *, epoch: int = 0) -> BatchHeader:
    return header(sequence, epoch=epoch, attributes=TRANSACTIONAL_BIT)


def begin(
    states: ProducerStates, sequence: int = 0, *, epoch: int = 0, raises: bool = False
) -> VerificationGuard:
    return states.begin_verification(PID, epoch, sequence, raises_epochs=raises, now_ms=0)


def append(
    states: ProducerStates, one: BatchHeader, guard: VerificationGuard, offset: int
) -> Duplicate | None:
    duplicate = states.check(one, guard)
    if duplicate is None:
        states.update(one, offset)
    return duplicate


def end(states: ProducerStates, offset: int, *, epoch: int = 0, version: int = 0) -> None:
    marker = EndMarker(PID, epoch, 0, False, version)
    states.check_marker(marker)
    states.end_transaction(marker, offset, timestamp=0)


def refusal(states: ProducerStates, one: BatchHeader, guard: VerificationGuard) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        states.check(one, guard)
    return caught.value.code


def test_the_first_batch_needs_the_guard_and_later_ones_the_open_transaction() -> None:
    states = ProducerStates()
    assert refusal(states, batch(0), ALREADY_OPEN) is ErrorCode.INVALID_TXN_STATE
    guard = begin(states)
    assert refusal(states, batch(0), VerificationGuard()) is ErrorCode.INVALID_TXN_STATE
    assert append(states, batch(0), guard, 0) is None
    assert begin(states) is ALREADY_OPEN
    assert append(states, batch(1), ALREADY_OPEN, 1) is None


def test_what_a_fenced_instance_asks_takes_nothing_from_the_newest_one() -> None:
    states = ProducerStates()
    append(states, batch(0, epoch=1), begin(states, epoch=1), 0)
    with pytest.raises(KafkaError, match="INVALID_PRODUCER_EPOCH"):
        begin(states, epoch=0)
    assert append(states, batch(1, epoch=1), ALREADY_OPEN, 1) is None


def test_an_abort_between_verification_and_append_lets_nothing_in() -> None:
    states = ProducerStates()
    guard = begin(states)
    end(states, 0)
    assert refusal(states, batch(0), guard) is ErrorCode.INVALID_TXN_STATE


def test_a_guard_of_the_transaction_before_the_last_is_worth_nothing() -> None:
    states = ProducerStates()
    stale = begin(states)
    end(states, 0)
    fresh = begin(states)
    assert stale is not fresh
    assert refusal(states, batch(0), stale) is ErrorCode.INVALID_TXN_STATE
    assert append(states, batch(0), fresh, 1) is None


@pytest.mark.kafka_bug("KAFKA-14402")
def test_after_the_marker_a_late_batch_is_refused_though_it_goes_on_in_sequence() -> None:
    states = ProducerStates()
    append(states, batch(0), begin(states), 0)
    end(states, 1)
    assert refusal(states, batch(1), ALREADY_OPEN) is ErrorCode.INVALID_TXN_STATE


def test_a_repeated_batch_is_a_duplicate_without_being_verified() -> None:
    states = ProducerStates()
    append(states, batch(0), begin(states), 0)
    end(states, 1)
    assert append(states, batch(0), ALREADY_OPEN, 2) == Duplicate(0, 0, 1000)


def test_an_open_transaction_of_an_older_epoch_verifies_nothing() -> None:
    states = ProducerStates()
    append(states, batch(0), begin(states), 0)
    guard = begin(states, epoch=1)
    assert guard is not ALREADY_OPEN
    assert refusal(states, batch(0, epoch=1), ALREADY_OPEN) is ErrorCode.INVALID_TXN_STATE


def test_a_fenced_epoch_is_told_so_even_with_its_guard() -> None:
    states = ProducerStates()
    guard = begin(states)
    end(states, 0, epoch=1, version=0)
    assert refusal(states, batch(0), guard) is ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.mark.kafka_bug("KAFKA-19690")
def test_a_producer_whose_transaction_was_aborted_for_it_is_told_of_its_epoch() -> None:
    states = ProducerStates()
    append(states, batch(0), begin(states), 0)
    end(states, 1, epoch=1)
    late = batch(1)
    assert refusal(states, late, ALREADY_OPEN) is ErrorCode.INVALID_PRODUCER_EPOCH
    with pytest.raises(KafkaError, match="INVALID_PRODUCER_EPOCH"):
        states.check_epoch(late, ALREADY_OPEN)


def test_of_an_unknown_producer_the_lowest_sequence_that_was_seen_comes_first() -> None:
    states = ProducerStates()
    begin(states, 1)
    guard = begin(states, 0)
    assert refusal(states, batch(1), guard) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert append(states, batch(0), guard, 0) is None
    assert append(states, batch(1), ALREADY_OPEN, 1) is None


def test_an_old_protocol_may_begin_with_any_sequence_the_new_one_only_with_0() -> None:
    for raises, code in ((False, None), (True, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)):
        states = ProducerStates()
        guard = begin(states, 5, raises=raises)
        if code is None:
            assert append(states, batch(5), guard, 0) is None
        else:
            assert refusal(states, batch(5), guard) is code


@pytest.mark.parametrize("raises", [False, True])
def test_a_late_batch_joins_the_next_transaction_unless_that_has_another_epoch(
    raises: bool,
) -> None:
    """A hole of the protocol before transaction.version 2: nothing tells the two apart."""
    states = ProducerStates()
    append(states, batch(0), begin(states, raises=raises), 0)
    epoch = int(raises)
    end(states, 1, epoch=epoch, version=2 * epoch)
    late = batch(1)
    guard = begin(states, epoch=epoch, raises=raises)  # Of the next transaction.
    if raises:
        assert refusal(states, late, guard) is ErrorCode.INVALID_PRODUCER_EPOCH
    else:
        begin(states, 1)
        assert refusal(states, late, guard) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        other = ProducerStates()
        append(other, batch(0), begin(other), 0)
        end(other, 1)
        assert append(other, late, begin(other, 1), 2) is None


def test_a_newer_epoch_counts_its_sequences_anew() -> None:
    known = Verifications()
    guard = known.begin(PID, 0, 0, raises_epochs=False, now_ms=0)
    assert known.begin(PID, 1, 4, raises_epochs=False, now_ms=0) is guard
    known.begin(PID, 0, 0, raises_epochs=False, now_ms=0)
    known.check_sequence(batch(4, epoch=1), is_known=False)
    with pytest.raises(KafkaError):
        known.check_sequence(batch(5, epoch=1), is_known=False)


def test_the_marker_of_the_transaction_before_keeps_the_next_one_of_the_new_protocol() -> None:
    states = ProducerStates()
    append(states, batch(0), begin(states, raises=True), 0)
    following = begin(states, epoch=1, raises=True)
    end(states, 1, epoch=1, version=2)
    assert append(states, batch(0, epoch=1), following, 2) is None


@pytest.mark.kafka_bug("KAFKA-19999")
def test_a_marker_that_is_sent_again_is_taken_while_nothing_is_open() -> None:
    """Its answer was lost, or the coordinator moved; the next transaction must not end by it."""
    states = ProducerStates()
    append(states, batch(0), begin(states), 0)
    end(states, 1, epoch=1, version=2)
    end(states, 2, epoch=1, version=2)
    append(states, batch(0, epoch=1), begin(states, epoch=1), 3)
    with pytest.raises(KafkaError, match="INVALID_PRODUCER_EPOCH"):
        end(states, 4, epoch=1, version=2)


def test_a_coordinator_s_batch_is_verified_too() -> None:
    states = ProducerStates()
    guard = begin(states)
    with pytest.raises(KafkaError, match="INVALID_TXN_STATE"):
        states.check_epoch(batch(0), VerificationGuard())
    states.check_epoch(batch(0), guard)
    ProducerStates().check_epoch(batch(0))


def test_a_verification_from_which_nothing_came_is_forgotten_with_idle_producers() -> None:
    states = ProducerStates()
    guard = begin(states)
    states.expire(DAY_MS - 1, DAY_MS)
    assert states.is_verified(PID, 0, guard)
    states.expire(DAY_MS, DAY_MS)
    assert not states.is_verified(PID, 0, guard)


def test_without_verification_any_transactional_batch_is_taken() -> None:
    assert ProducerStates().check(batch(0)) is None
