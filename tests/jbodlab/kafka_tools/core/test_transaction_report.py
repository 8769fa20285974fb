"""What hangs, and how transactions are shown."""

from __future__ import annotations

from jbodlab.kafka_tools.core.transaction_report import (
    OpenTransaction,
    hanging,
    listing_lines,
    open_for_long,
    transaction_lines,
)
from protocol.admin.transactions import ProducerView, TransactionListing, TransactionView
from protocol.ids import TopicPartition

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


def producer(producer_id: int, start_offset: int | None = 5) -> ProducerView:
    return ProducerView(
        producer_id=producer_id,
        producer_epoch=0,
        coordinator_epoch=-1,
        last_sequence=0,
        last_timestamp_ms=100,
        transaction_start_offset=start_offset,
    )


def view(*partitions: TopicPartition, started_ms: int | None = 10) -> TransactionView:
    return TransactionView(
        transactional_id="pay",
        producer_id=7,
        producer_epoch=0,
        state="Ongoing",
        timeout_ms=1_000,
        started_ms=started_ms,
        partitions=partitions,
    )


def test_only_what_is_open_for_longer_than_it_may_be_is_a_candidate() -> None:
    producers = {A0: [producer(7), producer(8, None)]}
    assert open_for_long(producers, longer_than_ms=50, now_ms=150) == []
    (found,) = open_for_long(producers, longer_than_ms=50, now_ms=151)
    assert found == OpenTransaction(A0, producer(7))


def test_it_hangs_unless_its_coordinator_has_the_partition() -> None:
    candidates = [OpenTransaction(tp, producer(7)) for tp in (A0, A1)]
    assert hanging(candidates, {7: view(A0, A1)}) == []
    assert hanging(candidates, {7: view(A0)}) == candidates[1:]
    assert hanging(candidates, {7: None}) == candidates
    assert hanging(candidates, {}) == candidates


def test_columns_are_as_wide_as_their_widest_word_and_end_in_a_tab() -> None:
    listing = TransactionListing("a-transactional-id", 7, "Ongoing")
    head, row = listing_lines([(2, listing)])
    assert head == "TransactionalId   \tCoordinator\tProducerId\tTransactionState\t"
    assert row == "a-transactional-id\t2          \t7         \tOngoing         \t"


def test_what_has_not_begun_has_no_times() -> None:
    _, row = transaction_lines(view(started_ms=None), 2, 50)
    assert row.split("\t")[6:8] == ["None                         ", "None                 "]
    _, row = transaction_lines(view(A0, A1), 2, 50)
    assert [word.strip() for word in row.split("\t")[6:9]] == ["10", "40", "a-0,a-1"]
