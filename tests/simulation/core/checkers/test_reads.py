"""What readers get lies below the high watermark, and leaves out nothing."""

from __future__ import annotations

import pytest

from simulation.core.checkers.reads import check_reads
from simulation.core.history import Function, Poll, Read
from simulation.core.samples import Damage, Role, SampleSource, TopicSample
from tests.simulation.core.checkers.build import SECOND_US, TP, Story


def _texts(story: Story) -> list[str]:
    story.samples.sources = tuple(SampleSource)
    return [violation.text for violation in check_reads(story.evidence)]


def _story(high_watermark: int = 5) -> Story:
    story = Story().at(1)
    story.replica(1, Role.LEADER, high_watermark=high_watermark)
    return story.at(2)


def _read(story: Story, *offsets: int, asked: int = 0, told: int = 5, broker: int = 1) -> None:
    records = tuple((offset, offset + 100) for offset in offsets)
    poll = Poll(broker, (Read(TP, asked, 0, records, told),))
    story.history.begin("reader", Function.POLL, poll).ok(poll)


def test_what_is_committed_and_follows_is_fine() -> None:
    story = _story()
    _read(story, 0, 1, 2)
    _read(story, 3, 4, asked=3)
    _read(story)

    assert _texts(story) == []


def test_a_record_behind_the_high_watermark_of_the_answer_is_not_committed() -> None:
    story = _story()
    _read(story, 0, 1, told=1)

    assert _texts(story) == ["orders-0 offset 1 was read from broker 1, with the high watermark 1"]


def test_a_record_behind_what_its_leader_held_is_not_committed_whatever_it_says() -> None:
    story = _story(2)
    _read(story, 0, 1)
    assert _texts(story) == []

    _read(story, 0, 1, 2)
    assert _texts(story) == [
        "orders-0 offset 2 was read from broker 1, and its high watermark was 2 then"
    ]


def test_a_high_watermark_that_was_seen_at_the_next_look_had_risen_before() -> None:
    story = _story(2)
    _read(story, 0, 1, 2)
    story.at(2.6).replica(1, Role.LEADER, high_watermark=3)

    assert _texts(story) == []


def test_of_a_leader_that_changed_meanwhile_nothing_is_known() -> None:
    story = _story(1)
    story.at(2.01).replica(1, Role.LEADER, epoch=1, high_watermark=1)
    story.at(2)
    _read(story, 0, 1, 2)
    _read(story, 0, 1, 2, broker=-1)

    assert _texts(story) == []


def test_a_record_that_is_left_out_is_missed() -> None:
    story = _story()
    _read(story, 0, 1, 3)
    _read(story, 2, asked=1)

    assert _texts(story) == [
        "orders-0 offset 3 was read from broker 1, where 2 follows",
        "orders-0 offset 2 was read from broker 1, where 1 follows",
    ]


def test_compaction_leaves_out_and_a_disk_that_wrote_elsewhere_is_not_judged() -> None:
    story = _story()
    _read(story, 0, 3)
    story.samples.topics.append(TopicSample(0, "orders", {"cleanup.policy": "compact"}))
    assert _texts(story) == []

    story.samples.topics.clear()
    story.partition(leader=1, isr=(1,))
    story.samples.damages.append(Damage(story.now_us, 1, "d1", "wrote", is_lasting=True))
    assert _texts(story) == []


@pytest.mark.parametrize(("asked", "told"), [(1, 1), (2, 0), (-1, 0)])
def test_a_follower_whose_disk_wrote_elsewhere_answers_readers_too(asked: int, told: int) -> None:
    """A library does not say which broker answered (seed 1064506)."""
    story = _story()
    damage = Damage(story.now_us, 2, "d1", "misdirected_write", is_lasting=True, tp=TP)
    story.samples.damages.append(damage)
    _read(story.at(3), 0, 2, broker=asked)

    assert len(_texts(story)) == told


@pytest.mark.parametrize(
    ("at_s", "broker", "what", "told"),
    [
        (3.01, 1, "bit_flip", 0),
        (3.01, 2, "bit_flip", 1),
        (3.01, 1, "lost_entry", 1),
        (2.9, 1, "bit_flip", 1),
        (3.1, 1, "bit_flip", 1),
    ],
)
def test_a_disk_may_misread_where_a_batch_begins(
    at_s: float, broker: int, what: str, told: int
) -> None:
    """No sum guards its base offset (seed 1150599)."""
    story = _story()
    _read(story.at(3), 2, asked=1)
    story.samples.damages.append(Damage(int(at_s * SECOND_US), broker, "d1", what))

    assert len(_texts(story)) == told


def test_who_asks_under_another_leader_epoch_is_given_nothing() -> None:
    story = Story().at(1)
    story.replica(1, Role.LEADER, epoch=4, high_watermark=5)
    story.at(2)
    for epoch, names_epochs in ((4, True), (-1, True), (3, False), (3, True)):
        read = Read(TP, 0, epoch, ((0, 100),), 5)
        poll = Poll(1, (read,), names_epochs=names_epochs)
        story.history.begin("reader", Function.POLL, poll).ok(poll)

    assert _texts(story) == [
        "orders-0 offset 0 was read from broker 1 under leader epoch 3, and it led at epoch 4 all "
        "the time"
    ]
