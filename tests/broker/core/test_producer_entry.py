"""One producer: to a snapshot and back, and what it goes on with."""

from __future__ import annotations

from broker.core.producer_entry import (
    SEQUENCE_MAX,
    Duplicate,
    Producer,
    ProducerEntry,
    follows,
)
from broker.core.producers import ProducerStates
from protocol.errors import ErrorCode
from tests.broker.core.test_producers import entry, error_of, header, marker


def test_a_producer_goes_to_a_snapshot_and_back() -> None:
    entry = ProducerEntry(7, 2, 1, 30, 3, 99, 5, 25)
    producer = Producer.from_entry(entry)
    assert producer.entry(7) == entry
    assert producer.batches[0].base_sequence == SEQUENCE_MAX - 1


def test_a_producer_known_by_a_marker_has_no_batch() -> None:
    entry = ProducerEntry(7, 2, -1, -1, 0, 99, 5, -1)
    producer = Producer.from_entry(entry)
    assert producer.batches == []
    assert producer.entry(7) == entry


def test_the_clock_counts_before_the_timestamps_of_records() -> None:
    producer = Producer.from_entry(ProducerEntry(7, 2, 1, 30, 3, 99, 5, 25))
    assert producer.last_seen_ms == 99
    producer.seen_ms = 500
    assert producer.last_seen_ms == 500


def test_truncation_takes_the_open_transaction_back() -> None:
    producer = Producer.from_entry(ProducerEntry(7, 2, 1, 30, 3, 99, 5, 30))
    producer.truncate_from_end(31)
    assert producer.transaction_first_offset == 30
    producer.truncate_from_end(30)
    assert producer.transaction_first_offset == -1
    assert producer.last_sequence == SEQUENCE_MAX - 2


def test_zero_follows_the_largest_sequence_only() -> None:
    assert follows(SEQUENCE_MAX, 0)
    assert follows(-1, 0)
    assert not follows(5, 0)


# Batches that a snapshot leaves out and that were read back from the log.


def snapshot_of(states: ProducerStates) -> ProducerStates:
    return ProducerStates(states.snapshot_entries())


def test_batches_read_back_from_the_log_are_known_again() -> None:
    states = ProducerStates()
    log = [header(sequence, offset=sequence) for sequence in range(8)]
    for batch in log:
        states.update(batch, batch.base_offset)
    loaded = snapshot_of(states)
    assert loaded.lacks_batches(7)
    assert error_of(loaded, header(5)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    loaded.recall(log)
    assert not loaded.lacks_batches(0)
    assert loaded.check(header(3)) == Duplicate(3, 3, 1000)
    assert error_of(loaded, header(2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert loaded.check(header(8)) is None


def test_batches_of_an_older_epoch_or_of_another_end_are_not_taken_for_the_last_ones() -> None:
    states = ProducerStates()
    log = [header(4, offset=0, epoch=0), header(0, offset=1, epoch=1), header(1, offset=2, epoch=1)]
    for batch in log:
        states.update(batch, batch.base_offset)
    loaded = snapshot_of(states)
    loaded.recall(log[:2])  # The snapshot's own batch is not among them.
    assert error_of(loaded, header(0, epoch=1)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    loaded.recall(log)
    assert loaded.check(header(0, epoch=1)) == Duplicate(1, 1, 1000)
    assert error_of(loaded, header(4, epoch=1)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_producer_that_began_in_its_oldest_batch_or_is_known_by_a_marker_lacks_none() -> None:
    assert not ProducerStates([entry(last_sequence=1)]).lacks_batches(0)
    marked = ProducerStates()
    marked.end_transaction(marker(), 10, timestamp=9)
    assert not marked.lacks_batches(0)
