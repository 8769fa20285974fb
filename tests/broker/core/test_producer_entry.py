"""One producer: to a snapshot and back, and what it goes on with."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from broker.core.producer_entry import (
    SEQUENCE_MAX,
    Duplicate,
    Producer,
    ProducerEntry,
    follows,
)
from broker.core.producers import ProducerStates
from protocol.errors import ErrorCode
from protocol.records.batch import BatchHeader
from tests.broker.core.producing import append, entry, error_of, header, marker


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


def test_a_producer_lacks_batches_while_few_are_known_and_the_oldest_is_not_its_first() -> None:
    def known(first_sequence: int, count: int) -> ProducerStates:
        states = ProducerStates()
        for index in range(count):
            states.update(header(first_sequence + index), index)
        return states

    assert not known(0, 2).lacks_batches(0), "it began with the oldest one"
    assert known(1, 4).lacks_batches(0)
    assert not known(1, 5).lacks_batches(0)
    assert known(1, 4).lacks_batches(3)
    assert not known(1, 4).lacks_batches(4), "it wrote nothing there"


def test_a_duplicate_has_the_first_and_the_last_sequence_of_a_batch_and_its_epoch() -> None:
    states = ProducerStates()
    states.update(header(0, count=3, epoch=1), 10)
    (producer,) = (Producer.from_entry(each) for each in states.snapshot_entries())
    assert producer.duplicate_of(header(0, count=3, epoch=1)) == Duplicate(10, 12, 1000)
    for other in (header(0, count=2, epoch=1), header(1, count=2, epoch=1), header(0, count=3)):
        assert producer.duplicate_of(other) is None


def test_truncation_goes_on_behind_the_newest_batch_that_stays() -> None:
    states = ProducerStates()
    for index in range(3):
        states.update(header(index, timestamp=100 + index), index * 10)
    states.truncate_from_end(11)
    assert states.snapshot_entries() == [ProducerEntry(7, 0, 1, 10, 0, 101, -1, -1)]
    states.truncate_from_end(20)
    assert states.snapshot_entries() == [ProducerEntry(7, 0, 1, 10, 0, 101, -1, -1)]


def test_a_batch_older_than_the_last_five_is_out_of_order() -> None:
    states = ProducerStates()
    for index in range(6):
        append(states, header(index), index)
    assert error_of(states, header(0)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert states.check(header(1)) == Duplicate(1, 1, 1000)


def test_an_overlap_that_is_no_repetition_is_out_of_order() -> None:
    states = ProducerStates()
    append(states, header(0, count=3), 0)
    assert error_of(states, header(0, count=2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_sequence_wraps_to_zero() -> None:
    states = ProducerStates()
    append(states, header(SEQUENCE_MAX - 1, count=2), 0)
    assert append(states, header(0, count=2), 2) is None
    assert states.check(header(SEQUENCE_MAX - 1, count=2)) == Duplicate(0, 1, 1000)


def test_a_batch_across_the_wrap_is_followed_and_found_again() -> None:
    states = ProducerStates()
    append(states, header(SEQUENCE_MAX, count=3), 0)
    assert append(states, header(2), 3) is None
    assert states.check(header(SEQUENCE_MAX, count=3)) == Duplicate(0, 2, 1000)


# The model: a producer that resends whatever was not acknowledged, through a leader that keeps all.


@given(st.lists(st.tuples(st.integers(1, 3), st.booleans(), st.integers(0, 4)), max_size=40))
def test_retries_within_five_batches_never_write_twice(
    steps: list[tuple[int, bool, int]],
) -> None:
    states = ProducerStates()
    log: list[int] = []
    sent: list[tuple[BatchHeader, int]] = []
    sequence = SEQUENCE_MAX - 10
    for count, retries, back in steps:
        if retries and back < len(sent):
            batch, offset = sent[-1 - back]
            assert states.check(batch) == Duplicate(
                offset, offset + batch.last_offset_delta, batch.max_timestamp
            )
            continue
        batch = header(sequence, count=count)
        assert states.check(batch) is None
        states.update(batch, len(log))
        sent.append((batch, len(log)))
        log += [(sequence + delta) % (SEQUENCE_MAX + 1) for delta in range(count)]
        sequence = (sequence + count) % (SEQUENCE_MAX + 1)
    assert len(set(log)) == len(log)
