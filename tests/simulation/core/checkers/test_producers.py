"""What brokers know of producers against what the logs say."""

from __future__ import annotations

import pytest

from simulation.core.checkers.producers import check_producers
from simulation.core.samples import (
    BatchSample,
    ClockSkew,
    Damage,
    LogSample,
    ProducerSample,
    TopicSample,
)
from tests.simulation.core.checkers.build import TP, Story

OPEN = ProducerSample(7, 0, 1, 0)
ENDED = ProducerSample(7, 0, 1, -1)
DATA = BatchSample(0, 2, 0, 7, 0, 0, ((0, 1), (1, 2)), is_transactional=True)
COMMIT = BatchSample(2, 3, 0, 7, 0, -1, (), is_transactional=True, marker="commit")
RAISED = COMMIT._replace(producer_epoch=1)


def story_of(
    *batches: BatchSample, producers: tuple[ProducerSample, ...] | None, start: int = 0
) -> Story:
    story = Story()
    log = LogSample(
        1, "d1", TP, is_future=False, batches=batches, log_start_offset=start, producers=producers
    )
    story.samples.logs.append(log)
    return story


def texts(story: Story) -> list[str]:
    return [violation.text for violation in check_producers(story.evidence)]


@pytest.mark.parametrize(
    ("batches", "producer"),
    [
        ((DATA,), OPEN),
        ((DATA, COMMIT), ENDED),
        ((DATA, RAISED), ProducerSample(7, 1, -1, -1)),
        ((DATA._replace(is_transactional=False),), ENDED),
        ((DATA._replace(base_sequence=2**31 - 1),), OPEN._replace(last_sequence=0)),
        (
            (DATA, COMMIT, DATA._replace(base_offset=3, next_offset=5, base_sequence=2)),
            ProducerSample(7, 0, 3, 3),
        ),
    ],
)
def test_what_follows_from_the_log_is_fine(
    batches: tuple[BatchSample, ...], producer: ProducerSample
) -> None:
    assert texts(story_of(*batches, producers=(producer,))) == []


def test_a_transaction_that_is_over_and_still_open_in_memory_is_told() -> None:
    assert texts(story_of(DATA, COMMIT, producers=(OPEN,))) == [
        "broker 1, orders-0: producer 7 has epoch 0, last sequence 1, transaction one open from "
        "offset 0, and the log has epoch 0, last sequence 1, transaction none open"
    ]
    assert texts(story_of(producers=(OPEN,))) == [
        "broker 1, orders-0: producer 7 has epoch 0, last sequence 1, transaction one open from "
        "offset 0, and the log has nothing of it"
    ]


def test_a_producer_that_was_forgotten_is_told_unless_clocks_were_changed() -> None:
    story = story_of(DATA, producers=())
    assert texts(story) == [
        "broker 1, orders-0: producer 7 is not known, and the log has epoch 0, last sequence 1, "
        "transaction one open from offset 0"
    ]
    story.samples.clock_skews.append(ClockSkew(1, "broker-1", 60_000))
    assert texts(story) == []


def test_logs_that_lost_batches_or_that_nobody_looked_at_judge_nothing() -> None:
    unseen = story_of(DATA, producers=None)
    cut = story_of(COMMIT, producers=(ENDED._replace(last_sequence=-1),), start=2)
    kept = story_of(COMMIT, producers=(ENDED,), start=2)  # Seed 925626.
    emptied = story_of(producers=(OPEN,), start=2)  # Seed 984204.
    compacted, damaged = (story_of(DATA, producers=()) for _ in range(2))
    compacted.samples.topics.append(TopicSample(0, "orders", {"cleanup.policy": "compact"}))
    damaged.samples.damages.append(Damage(0, 1, "d1", "bit flip", is_lasting=True))

    assert [texts(story) for story in (unseen, cut, kept, emptied, compacted, damaged)] == [[]] * 6


def test_what_an_examiner_wrote_long_ago_may_be_forgotten() -> None:
    for topic, count in (("orders", 1), ("conform-topic1", 0)):
        story = story_of(DATA, producers=())
        (log,) = story.samples.logs
        story.samples.logs[0] = log._replace(tp=log.tp._replace(topic=topic))
        assert len(texts(story)) == count
