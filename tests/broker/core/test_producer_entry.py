"""One producer: to a snapshot and back, and what it goes on with."""

from __future__ import annotations

from broker.core.producer_entry import SEQUENCE_MAX, Producer, ProducerEntry, follows


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
