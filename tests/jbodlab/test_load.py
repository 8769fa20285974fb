"""The proof of a load: gaps, losses and doubles are found."""

from __future__ import annotations

import pytest
from kafka.errors import KafkaTimeoutError

from jbodlab.load import Acknowledged, LoadReport, close, verify


def report(*acknowledged: tuple[int, float]) -> LoadReport:
    records = [
        Acknowledged(number, partition, at) for number, (partition, at) in enumerate(acknowledged)
    ]
    return LoadReport(acknowledged=tuple(records), failed=(), seconds=2.0)


def test_the_longest_gap_is_per_partition_and_after_the_break() -> None:
    load = report((0, 0.0), (1, 5.1), (0, 5.0), (0, 5.25), (1, 5.4), (0, 5.3))
    assert load.longest_gap_ms([0], after=5.0) == pytest.approx(250)
    assert load.longest_gap_ms([1], after=5.0) == pytest.approx(300)
    assert load.longest_gap_ms([0, 1], after=5.0) == pytest.approx(300)


def test_a_gap_begins_at_the_break_when_that_is_later() -> None:
    assert report((0, 1.0), (0, 9.0)).longest_gap_ms([0], after=8.0) == pytest.approx(1000)


def test_no_gap_is_zero() -> None:
    assert report((0, 1.0)).longest_gap_ms([0, 7], after=0.0) == 0


def test_the_rate_counts_what_was_acknowledged() -> None:
    assert report((0, 1.0), (0, 2.0)).records_per_second == 1.0


def test_losses_and_doubles_are_named() -> None:
    acknowledged = [Acknowledged(number, 0, 0.0) for number in (1, 2, 3)]
    check = verify(acknowledged, [1, 1, 3, 9])
    assert (check.lost, check.twice, check.is_clean) == ((2,), (1,), False)
    assert (check.acknowledged, check.read) == (3, 4)


def test_records_that_were_never_acknowledged_may_be_there() -> None:
    assert verify([Acknowledged(1, 0, 0.0)], [1, 2]).is_clean


class Unanswered:
    """A producer as kafka-python's: closing it flushes first, which nobody answers."""

    def __init__(self) -> None:
        self.is_closed = False

    def flush(self, timeout: float | None = None) -> None:
        raise KafkaTimeoutError(f"Timeout waiting for future: {timeout}")

    def close(self, timeout: float) -> None:
        self.flush(timeout)
        self.is_closed = True


def test_a_producer_that_nobody_answers_is_closed_without_an_error() -> None:
    producer = Unanswered()
    close(producer, timeout_s=0)
    assert producer.is_closed
