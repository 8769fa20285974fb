from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from broker.core.coordination import Decided, batch_size_bound
from broker.core.transaction_state.begin import BeginAsked, ProducerIdAndEpoch
from broker.core.transaction_state.end import EndAsked
from broker.core.transaction_state.metadata import (
    EPOCH_MAX,
    TransactionMetadata,
    TransactionState,
)
from broker.core.transaction_state.shard import (
    EXPIRED_OF_A_BATCH_MAX,
    Initialized,
    MarkersDue,
    TransactionShard,
)
from broker.core.transaction_state.stored import record_of
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.broker.core.transaction_state.lab import A0, A1, LIMITS, P0, WAITER, Log


def test_a_transaction_begins_takes_partitions_is_committed_and_completed() -> None:
    log = Log()
    assert log.begin() == Initialized(ErrorCode.NONE, 7, 0)
    assert log.add(A0, now=10) is ErrorCode.NONE
    assert log.add(A0, A1, now=20) is ErrorCode.NONE
    assert log.end(now=30) == Initialized(ErrorCode.NONE, 7, 0)
    assert log.effects == [MarkersDue("pay", 7, 0, True, (A0, A1), 0)]
    log.take(log.shard.markers_written(log.effects[0], 40))
    assert log.state() is TransactionState.COMPLETE_COMMIT
    assert len(log.records) == 5


def test_partitions_that_are_in_already_cost_no_record() -> None:
    log = Log()
    log.begin()
    log.add(A0, A1)
    count = len(log.records)
    assert log.add(A1) is ErrorCode.NONE
    assert len(log.records) == count


def test_whoever_is_not_the_producer_adds_nothing() -> None:
    log = Log()
    assert log.add(A0) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    log.begin()
    assert log.add(A0, producer=ProducerIdAndEpoch(8, 0)) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert log.add(A0, producer=ProducerIdAndEpoch(7, 1)) is ErrorCode.PRODUCER_FENCED
    log.add(A0)
    log.end()
    assert log.add(A1) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert len(log.records) == 3


def test_a_leader_is_told_which_partitions_are_in_the_open_transaction() -> None:
    log = Log()

    def verified(producer: ProducerIdAndEpoch = P0) -> Any:
        return log.take(log.shard.verify_partitions(WAITER, "pay", producer, [A0, A1]))

    log.begin()
    assert verified() == [ErrorCode.TRANSACTION_ABORTABLE] * 2
    log.add(A0)
    assert verified() == [ErrorCode.NONE, ErrorCode.TRANSACTION_ABORTABLE]
    assert verified(ProducerIdAndEpoch(7, 1)) == [ErrorCode.PRODUCER_FENCED] * 2
    log.end()
    assert verified() == [ErrorCode.CONCURRENT_TRANSACTIONS] * 2


def test_a_timeout_that_is_none_or_above_the_limit_is_refused() -> None:
    log = Log()
    for timeout_ms in (0, -1, 900_001):
        refused = log.begin(timeout_ms=timeout_ms)
        assert refused == Initialized(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
    assert log.begin(timeout_ms=900_000).error is ErrorCode.NONE


def test_who_starts_while_a_transaction_is_open_aborts_it_and_asks_again() -> None:
    log = Log()
    log.begin()
    log.add(A0)
    assert log.begin() == Initialized(ErrorCode.CONCURRENT_TRANSACTIONS)
    assert log.effects == [MarkersDue("pay", 7, 1, False, (A0,), 0)]
    assert log.begin() == Initialized(ErrorCode.CONCURRENT_TRANSACTIONS)
    log.take(log.shard.markers_written(log.effects[0], 5))
    assert log.begin() == Initialized(ErrorCode.NONE, 7, 2)


def test_a_producer_id_that_is_missing_after_all_has_the_producer_ask_again() -> None:
    log = Log()
    assert log.begin(new_id=-1) == Initialized(ErrorCode.CONCURRENT_TRANSACTIONS)
    assert log.records == []


def test_a_transaction_is_aborted_when_it_is_late_and_its_producer_is_out() -> None:
    log = Log()
    log.begin(timeout_ms=1_000)
    log.add(A0, now=500)
    assert log.shard.next_due_ms() == 10_000
    log.take(log.shard.expire(10_000, 1_500))
    assert log.state() is TransactionState.ONGOING
    log.take(log.shard.expire(20_000, 1_501))
    assert log.effects == [MarkersDue("pay", 7, 1, False, (A0,), 0)]
    assert log.end().error is ErrorCode.PRODUCER_FENCED


def test_transactions_are_not_looked_at_before_it_is_time() -> None:
    log = Log()
    log.begin(timeout_ms=1_000)
    log.add(A0)
    log.take(log.shard.expire(9_999, 100_000))
    assert log.effects == []


def test_an_id_that_nobody_used_for_long_is_forgotten_in_the_log_too() -> None:
    log = Log()
    log.begin(now=100)
    at = 100 + LIMITS.id_expiration_ms
    log.take(log.shard.expire(3_600_000, at - 1))
    assert log.state() is TransactionState.EMPTY
    log.take(log.shard.expire(7_200_000, at))
    assert log.state() is None
    assert log.records[-1][1] is None
    assert log.reloaded().state() is None


@pytest.mark.parametrize("version", [0, 2])
def test_a_transaction_that_outgrows_a_batch_is_refused_as_it_was_and_can_end(version: int) -> None:
    log = Log(version)
    log.begin()
    log.batch_bytes_max = 400
    taken = [partition for partition in range(100) if _is_taken(log, partition)]
    assert taken == list(range(len(taken)))
    assert 0 < len(taken) < 100
    known = log.shard.get("pay")
    assert known is not None
    assert len(known.partitions) == len(taken)
    log.end()
    assert all(batch_size_bound([record]) <= log.batch_bytes_max for record in log.records)


def _is_taken(log: Log, partition: int) -> bool:
    code = log.add(TopicPartition("a", partition))
    assert code in {ErrorCode.NONE, ErrorCode.UNKNOWN_SERVER_ERROR}
    return code is ErrorCode.NONE


def test_no_more_ids_than_a_batch_takes_are_forgotten_at_once() -> None:
    shard = TransactionShard(LIMITS, 0, lambda: 1_000_000)
    shard.loaded(0, 0)
    for number in range(EXPIRED_OF_A_BATCH_MAX + 1):
        shard.begin(WAITER, BeginAsked(f"id{number}", 1), new_producer_id=number, wall_ms=0)
    expired = shard.expire(3_600_000, LIMITS.id_expiration_ms)
    assert len(expired.records) == EXPIRED_OF_A_BATCH_MAX
    assert len(list(shard.transactions())) == 1


def test_an_open_transaction_never_expires() -> None:
    log = Log()
    log.begin(timeout_ms=900_000)
    log.add(A0)
    log.end()
    log.take(log.shard.expire(3_600_000, 10 * LIMITS.id_expiration_ms))
    assert log.state() is TransactionState.PREPARE_COMMIT


def test_whoever_loads_the_log_sends_the_markers_that_are_still_due() -> None:
    log = Log()
    log.begin()
    log.add(A0, A1)
    assert log.reloaded().effects == []
    log.end()
    other = log.reloaded()
    assert other.effects == log.effects
    other.take(other.shard.markers_written(other.effects[0], 50))
    assert other.state() is TransactionState.COMPLETE_COMMIT


def test_markers_of_an_earlier_transaction_complete_nothing() -> None:
    log = Log(2)
    log.begin()
    log.add(A0)
    log.end()
    earlier = log.effects[0]
    log.take(log.shard.markers_written(earlier, 10))
    log.add(A0, producer=ProducerIdAndEpoch(7, 1))
    log.end(epoch=1)
    assert log.shard.markers_written(earlier, 20) == Decided()
    assert log.state() is TransactionState.PREPARE_COMMIT


def test_from_version_2_on_the_end_tells_the_epoch_of_the_next_transaction() -> None:
    log = Log(2)
    log.begin()
    log.add(A0)
    assert log.end() == Initialized(ErrorCode.NONE, 7, 1)
    assert log.effects[0].producer_epoch == 1
    log.take(log.shard.markers_written(log.effects[0], 10))
    assert log.end() == Initialized(ErrorCode.NONE, 7, 1)
    assert log.end(commits=False).error is ErrorCode.INVALID_TXN_STATE


def test_late_transactions_and_old_ids_are_looked_for_each_in_its_own_time() -> None:
    shard = TransactionShard(LIMITS, 0, lambda: 1_000_000)
    assert shard.next_due_ms() is None
    shard.loaded(1_000_000, 0)
    assert shard.next_due_ms() == 1_010_000
    shard.begin(WAITER, BeginAsked("pay", 1), new_producer_id=7, wall_ms=0)
    expiry_ms, old = 1_000_000 + LIMITS.expiry_interval_ms, 2 * LIMITS.id_expiration_ms
    assert not shard.expire(expiry_ms - 1, old).records
    assert shard.next_due_ms() == expiry_ms
    assert len(shard.expire(expiry_ms, old).records) == 1
    shard.begin(WAITER, BeginAsked("pay", 1), new_producer_id=8, wall_ms=0)
    assert not shard.expire(2 * expiry_ms - 1_000_001, old).records
    assert len(shard.expire(2 * expiry_ms - 1_000_000, old).records) == 1


def test_what_is_aborted_or_forgotten_at_once_may_take_several_batches() -> None:
    log = Log()
    log.begin(timeout_ms=1)
    log.add(A0)
    decided = log.shard.expire(10_000, 60_000)
    assert (len(decided.records), decided.is_atomic) == (1, False)


@pytest.mark.parametrize("commits", [True, False])
def test_an_id_whose_last_transaction_is_complete_is_forgotten_too(commits: bool) -> None:
    log = Log()
    log.begin()
    log.add(A0)
    log.end(commits=commits)
    log.take(log.shard.markers_written(log.effects[0], 0))
    log.take(log.shard.expire(3_600_000, LIMITS.id_expiration_ms))
    assert log.state() is None


def test_who_is_not_the_producer_any_more_begins_nothing() -> None:
    log = Log()
    log.begin()
    asked = BeginAsked("pay", 60_000, ProducerIdAndEpoch(6, 0))
    told = log.take(log.shard.begin(WAITER, asked, new_producer_id=-1, wall_ms=0))
    assert told == Initialized(ErrorCode.PRODUCER_FENCED)
    assert len(log.records) == 1


def test_a_new_producer_id_is_wanted_by_who_is_new_and_by_who_used_up_its_epochs() -> None:
    log = Log(2)
    assert log.shard.needs_producer_id_to_begin(BeginAsked("pay", 60_000))
    log.begin()
    assert not log.shard.needs_producer_id_to_begin(BeginAsked("pay", 60_000))
    asked = EndAsked(7, 0, is_commit=True, client_transaction_version=2)
    assert not log.shard.may_need_producer_id_to_end("pay", asked)
    known = log.shard.get("pay")
    assert known is not None
    last = replace(known, producer_epoch=EPOCH_MAX - 1)
    log.shard.replay(*record_of(last, 2))
    asked = asked._replace(producer_epoch=EPOCH_MAX - 1)
    assert log.shard.may_need_producer_id_to_end("pay", asked)
    assert not log.shard.may_need_producer_id_to_end("other", asked)
    log.add(A0, producer=ProducerIdAndEpoch(7, EPOCH_MAX - 1))
    told = log.end(epoch=EPOCH_MAX - 1)
    assert told == Initialized(ErrorCode.CONCURRENT_TRANSACTIONS)
    assert log.state() is TransactionState.ONGOING


def test_a_producer_that_adds_no_partition_at_rest_has_begun_a_transaction() -> None:
    log = Log()
    log.begin()
    assert log.add() is ErrorCode.NONE
    assert log.state() is TransactionState.ONGOING


# Requests that were delayed, and arrive in the next transaction of their producer (KAFKA-17754).


def next_transaction(version: int) -> Log:
    """Aborted once, then open again with a-1."""
    log = Log(version)
    log.begin()
    log.add(A0)
    log.end(commits=False)
    log.take(log.shard.markers_written(log.effects[-1], 0))
    log.add(A1, producer=ProducerIdAndEpoch(7, version // 2))
    assert log.state() is TransactionState.ONGOING
    return log


@pytest.mark.parametrize("commits", [True, False])
def test_in_the_first_protocol_a_late_end_ends_the_next_transaction(commits: bool) -> None:
    """A hole of the protocol, in Kafka as here: nothing tells the two transactions apart."""
    log = next_transaction(0)
    assert log.end(commits=commits).error is ErrorCode.NONE
    states = {True: TransactionState.PREPARE_COMMIT, False: TransactionState.PREPARE_ABORT}
    assert log.state() is states[commits]


@pytest.mark.kafka_bug("KAFKA-17754")
@pytest.mark.parametrize("commits", [True, False])
def test_from_version_2_on_a_late_end_is_fenced(commits: bool) -> None:
    log = next_transaction(2)
    assert log.end(commits=commits).error is ErrorCode.PRODUCER_FENCED
    assert log.state() is TransactionState.ONGOING


def test_in_the_first_protocol_late_partitions_join_the_next_transaction() -> None:
    """They get a marker without data. At rest they begin one, which is aborted when it is late."""
    log = next_transaction(0)
    assert log.add(A0) is ErrorCode.NONE
    log.end()
    log.take(log.shard.markers_written(log.effects[-1], 0))
    assert log.add(A0) is ErrorCode.NONE
    assert log.state() is TransactionState.ONGOING
    log.take(log.shard.expire(10_000, 60_001))
    assert log.state() is TransactionState.PREPARE_ABORT


@pytest.mark.kafka_bug("KAFKA-17754")
def test_from_version_2_on_late_partitions_are_fenced() -> None:
    log = next_transaction(2)
    assert log.add(A0) is ErrorCode.PRODUCER_FENCED


@pytest.mark.kafka_bug("KAFKA-19367")
def test_who_starts_while_a_transaction_is_open_raises_the_epoch_once_for_its_abort() -> None:
    log = Log(2)
    log.begin()
    log.add(A0)
    assert log.begin().error is ErrorCode.CONCURRENT_TRANSACTIONS
    log.take(log.shard.markers_written(log.effects[-1], 0))
    begun = log.begin()
    assert (begun.error, begun.producer_epoch) == (ErrorCode.NONE, 2)


@pytest.mark.kafka_bug("KAFKA-18575")
def test_partitions_of_the_next_producer_id_wait_for_the_markers() -> None:
    log = Log(2)
    last = ProducerIdAndEpoch(7, EPOCH_MAX - 1)
    known = TransactionMetadata(
        transactional_id="pay",
        producer_id=7,
        producer_epoch=last.producer_epoch,
        timeout_ms=60_000,
        updated_ms=0,
    )
    log.shard.replay(*record_of(known, 2))
    log.add(A0, producer=last)
    asked = EndAsked(*last, is_commit=True, client_transaction_version=2)
    told = log.take(log.shard.end(WAITER, "pay", asked, new_producer_id=50, wall_ms=0))
    following = ProducerIdAndEpoch(told.producer_id, told.producer_epoch)
    assert following == (50, 0)
    assert log.add(A0, producer=following) is ErrorCode.CONCURRENT_TRANSACTIONS
    log.take(log.shard.markers_written(log.effects[-1], 0))
    assert log.add(A0, producer=following) is ErrorCode.NONE
