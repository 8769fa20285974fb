"""What waits for the metrics topic: bounded, in order, one batch until it is known what became."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from protocol.metric_topic.records import BATCH_BYTES_MAX, BatchFate, MetricRecords
from protocol.records.build import NewRecord


def records(*names: str, size_bytes: int = 10) -> list[NewRecord]:
    return [NewRecord(name.encode().ljust(size_bytes), b"log_dir/v2") for name in names]


def test_what_waits_goes_into_one_batch_in_its_order():
    waiting = MetricRecords()
    assert waiting.offer(records("a", "b")) == 0
    assert waiting.offer(records("c")) == 0
    assert list(waiting.batch()) == records("a", "b", "c")
    assert len(waiting) == 3
    assert waiting.answered(ErrorCode.NONE) is BatchFate.WRITTEN
    assert (len(waiting), list(waiting.batch()), waiting.base_sequence) == (0, [], 3)


def test_a_batch_stays_the_same_until_it_is_answered():
    waiting = MetricRecords()
    waiting.offer(records("a"))
    assert len(waiting.batch()) == 1
    waiting.offer(records("b"))
    assert waiting.answered(ErrorCode.NOT_LEADER_OR_FOLLOWER) is BatchFate.AGAIN
    assert list(waiting.batch()) == records("a")
    assert waiting.base_sequence == 0


def test_a_batch_is_no_larger_than_a_leader_takes_but_for_a_single_record():
    waiting = MetricRecords()
    waiting.offer(records("a", "b", "c", size_bytes=BATCH_BYTES_MAX // 2))
    waiting.offer(records("d", size_bytes=2 * BATCH_BYTES_MAX))
    sizes: list[int] = []
    while batch := waiting.batch():
        sizes.append(len(batch))
        waiting.answered(ErrorCode.NONE)
    assert sizes == [1, 1, 1, 1]


def test_what_finds_no_room_is_dropped_and_counted():
    waiting = MetricRecords(bytes_max=110)
    assert waiting.offer(records("a", "b", "c", "d")) == 2
    assert list(waiting.batch()) == records("a", "b")
    assert waiting.offer(records("e")) == 0, "what is under way takes no room from what waits"


def test_an_answer_that_was_lost_costs_nothing():
    waiting = MetricRecords()
    waiting.offer(records("a", "b"))
    waiting.batch()
    assert waiting.answered(ErrorCode.NETWORK_EXCEPTION) is BatchFate.AGAIN
    assert waiting.answered(ErrorCode.DUPLICATE_SEQUENCE_NUMBER) is BatchFate.WRITTEN
    assert waiting.base_sequence == 2


@pytest.mark.parametrize(
    "code", [ErrorCode.UNKNOWN_PRODUCER_ID, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
)
def test_a_producer_that_the_leader_does_not_know_begins_anew_with_the_same_batch(code: ErrorCode):
    waiting = MetricRecords()
    waiting.offer(records("a"))
    waiting.batch()
    waiting.answered(ErrorCode.NONE)
    waiting.offer(records("b"))
    waiting.batch()
    assert waiting.answered(code) is BatchFate.AGAIN_BY_ANOTHER_PRODUCER
    assert (list(waiting.batch()), waiting.base_sequence) == (records("b"), 0)


def test_what_is_refused_for_good_is_lost_and_takes_no_sequence():
    waiting = MetricRecords()
    waiting.offer(records("a"))
    waiting.batch()
    assert waiting.answered(ErrorCode.MESSAGE_TOO_LARGE) is BatchFate.REFUSED
    assert (len(waiting), waiting.base_sequence) == (0, 0)
