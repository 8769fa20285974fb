"""Batches that a snapshot leaves out and that were read back from the log."""

from __future__ import annotations

from broker.core.producer_entry import Duplicate
from broker.core.producers import ProducerStates
from protocol.errors import ErrorCode
from tests.broker.core.test_producers import entry, error_of, header, marker


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
