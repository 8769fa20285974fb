"""What brokers know of leader epochs against what the logs say."""

from __future__ import annotations

from simulation.core.checkers.epochs import check_epochs
from simulation.core.samples import BatchSample, Damage, EpochBegin, LogSample
from tests.simulation.core.checkers.build import TP, Story

FIRST = BatchSample(0, 2, 0, -1, -1, -1, ((0, 1), (1, 2)), leader_epoch=3)
SECOND = FIRST._replace(base_offset=2, next_offset=4, leader_epoch=5)
KNOWN = (EpochBegin(3, 0), EpochBegin(5, 2))


def story_of(*epochs: EpochBegin, start: int = 0) -> Story:
    story = Story()
    log = LogSample(1, "d1", TP, is_future=False, batches=(FIRST, SECOND), log_start_offset=start)
    story.samples.logs.append(log._replace(epochs=epochs))
    return story


def texts(story: Story) -> list[str]:
    return [violation.text for violation in check_epochs(story.evidence)]


def test_what_follows_from_the_log_is_fine() -> None:
    assert texts(story_of(*KNOWN)) == []


def test_an_epoch_that_has_written_nothing_yet_is_fine() -> None:
    assert texts(story_of(*KNOWN, EpochBegin(6, 4))) == []


def test_an_epoch_begins_where_the_log_does_when_records_were_deleted() -> None:
    assert texts(story_of(EpochBegin(3, 1), EpochBegin(5, 2), start=1)) == []


def test_a_batch_of_another_epoch_is_told() -> None:
    assert texts(story_of(EpochBegin(3, 0), EpochBegin(5, 3))) == [
        "broker 1, orders-0: the batch at offset 2 has leader epoch 5, and the one known there is 3"
    ]


def test_an_epoch_that_is_not_known_is_told() -> None:
    assert texts(story_of(EpochBegin(5, 2))) == [
        "broker 1, orders-0: the batch at offset 0 has leader epoch 3, and the one known there is "
        "-1"
    ]


def test_an_epoch_before_the_log_is_told() -> None:
    assert texts(story_of(*KNOWN, start=1)) == [
        "broker 1, orders-0: leader epoch 3 begins at offset 0, and the log from offset 1 on"
    ]


def test_epochs_out_of_order_are_told() -> None:
    assert texts(story_of(EpochBegin(3, 0), EpochBegin(5, 2), EpochBegin(4, 4))) == [
        "broker 1, orders-0: leader epoch 5 begins at offset 2 comes before leader epoch 4 begins "
        "at offset 4"
    ]


def test_a_disk_that_changed_bytes_excuses() -> None:
    story = story_of(*KNOWN, start=1)
    story.samples.damages.append(Damage(0, 1, "d1", "misdirected", is_lasting=True))
    assert texts(story) == []


def test_a_log_that_nobody_looked_into_is_not_judged() -> None:
    story = story_of(*KNOWN, start=1)
    story.samples.logs[0] = story.samples.logs[0]._replace(epochs=None)
    assert texts(story) == []
