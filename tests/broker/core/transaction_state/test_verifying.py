"""What leaders ask coordinators together, and what clients are told."""

from __future__ import annotations

import pytest

from broker.core.transaction_state.verifying import (
    VerificationAsked,
    VerificationBatch,
    Verifying,
    is_worth_retrying,
    offset_commit_refusal,
    produce_refusal,
    verified_code,
    verifying_of_offset_commit,
    verifying_of_produce,
)
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition

OLD, NEW, ADDING = Verifying.FOR_OLD_CLIENT, Verifying.FOR_NEW_CLIENT, Verifying.ADDING


def asked(name: str, epoch: int = 0) -> VerificationAsked:
    return VerificationAsked(name, 7, epoch, (TopicPartition("a", 0),), OLD)


@pytest.mark.parametrize(("version", "how"), [(10, OLD), (11, NEW), (12, ADDING), (13, ADDING)])
def test_the_version_of_produce_tells_what_the_client_knows(version: int, how: Verifying) -> None:
    assert verifying_of_produce(version) is how


@pytest.mark.parametrize(("version", "how"), [(3, OLD), (4, NEW), (5, ADDING)])
def test_so_does_that_of_txn_offset_commit(version: int, how: Verifying) -> None:
    assert verifying_of_offset_commit(version) is how


def test_several_ids_go_into_one_request_in_order() -> None:
    batch = VerificationBatch()
    both = [asked("a"), asked("b")]
    assert [batch.add(each) for each in both] == [None, None]
    assert batch.take() == both
    assert not batch


@pytest.mark.parametrize(
    ("epochs", "refused", "code"),
    [
        ((0, 0), 0, ErrorCode.NETWORK_EXCEPTION),
        ((0, 1), 0, ErrorCode.INVALID_PRODUCER_EPOCH),
        ((1, 0), 1, ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
def test_an_id_is_asked_once_with_its_newest_epoch(
    epochs: tuple[int, int], refused: int, code: ErrorCode
) -> None:
    batch = VerificationBatch()
    both = [asked("a", epoch) for epoch in epochs]
    batch.add(both[0])
    out = batch.add(both[1])
    assert out is not None
    assert (out.asked, out.code) == (both[refused], code)
    assert batch.take() == [both[1 - refused]]


@pytest.mark.parametrize(
    ("code", "how", "told"),
    [
        (ErrorCode.PRODUCER_FENCED, NEW, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.TRANSACTION_ABORTABLE, OLD, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.TRANSACTION_ABORTABLE, NEW, ErrorCode.TRANSACTION_ABORTABLE),
        (ErrorCode.NONE, OLD, ErrorCode.NONE),
    ],
)
def test_codes_that_old_producers_do_not_expect_are_replaced(
    code: ErrorCode, how: Verifying, told: ErrorCode
) -> None:
    assert verified_code(code, how) is told


@pytest.mark.parametrize("how", Verifying)
@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    ],
)
def test_a_coordinator_that_cannot_say_makes_producers_try_again(
    code: ErrorCode, how: Verifying
) -> None:
    told = produce_refusal(code, how)
    assert told.code is ErrorCode.NOT_ENOUGH_REPLICAS
    assert code.name in told.message


def test_only_the_new_protocol_knows_concurrent_transactions() -> None:
    code = ErrorCode.CONCURRENT_TRANSACTIONS
    assert produce_refusal(code, NEW).code is ErrorCode.NOT_ENOUGH_REPLICAS
    assert produce_refusal(code, ADDING).code is code
    assert offset_commit_refusal(code, OLD) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert offset_commit_refusal(code, ADDING) is code


def test_what_is_not_added_is_told_with_a_reason() -> None:
    told = produce_refusal(ErrorCode.INVALID_TXN_STATE, OLD)
    assert told == (ErrorCode.INVALID_TXN_STATE, "Partition was not added to the transaction")
    assert offset_commit_refusal(told.code, OLD) is told.code
    network = ErrorCode.NETWORK_EXCEPTION
    assert offset_commit_refusal(network, ADDING) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_a_leader_asks_again_only_for_the_new_protocol_while_an_end_is_under_way() -> None:
    concurrent = [ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS]
    assert is_worth_retrying(concurrent, ADDING)
    assert not is_worth_retrying(concurrent, NEW)
    assert not is_worth_retrying([ErrorCode.NOT_COORDINATOR], ADDING)


def test_what_a_producer_can_do_something_about_it_is_told_as_it_is() -> None:
    for code in (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_ABORTABLE):
        assert produce_refusal(code, NEW) == (code, "")
        assert offset_commit_refusal(code, NEW) is code
