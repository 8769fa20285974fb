from __future__ import annotations

from typing import Literal

import pytest

from simulation.core.checkers.high_watermark import check_high_watermark
from simulation.core.samples import AheadSample, Role
from tests.simulation.core.checkers.build import TP, Story


def _texts(story: Story) -> list[str]:
    return [violation.text for violation in check_high_watermark(story.evidence)]


def _ahead(
    story: Story, what: Literal["high watermark", "compacted"], offset: int, bound: int
) -> None:
    story.samples.ahead.append(AheadSample(story.now_us, 2, TP, what, offset, bound, 5))


def test_a_checkpoint_that_is_ahead_of_every_high_watermark_is_a_violation() -> None:
    story = Story().at(1)
    story.replica(1, Role.LEADER, end=9, high_watermark=5, isr=(1, 2))
    story.replica(2, end=9, high_watermark=5)
    _ahead(story.at(2), "high watermark", 9, 5)

    assert _texts(story) == [
        "of orders-0 is 9 in the checkpoint of broker 2, and was 5 in its memory, and never more "
        "on any broker"
    ]


def test_what_was_reached_before_a_high_watermark_fell_may_be_written_down() -> None:
    story = Story().at(1)
    story.replica(1, Role.LEADER, end=9, high_watermark=9, isr=(1,))
    story.replica(2, end=9, high_watermark=5)
    _ahead(story.at(2), "high watermark", 9, 5)

    assert _texts(story) == []


@pytest.mark.parametrize(
    ("epoch", "now", "is_well"),
    [(1, 0, True), (0, 0, False), (1, 7, True), (0, 7, False), (1, 8, False)],
)
def test_what_was_reached_since_the_look_before_under_an_earlier_leader_nobody_knows(
    epoch: int, now: int, *, is_well: bool
) -> None:
    story = Story().at(1)
    story.replica(2, Role.LEADER, end=7, high_watermark=7, isr=(2,))
    story.at(2).replica(2, end=now, high_watermark=now, epoch=epoch)
    _ahead(story, "high watermark", max(8, now + 1), now)

    assert (_texts(story) == []) is is_well


def test_compaction_beyond_the_last_stable_offset_is_a_violation() -> None:
    story = Story().at(1)
    story.replica(2, Role.LEADER, end=9, high_watermark=5, isr=(2,))
    _ahead(story.at(2), "compacted", 5, 3)

    assert _texts(story) == [
        "of orders-0 is 5, its last stable offset 3 on broker 2, and its log there is compacted "
        "up to 5"
    ]


def test_one_that_was_compacted_before_its_high_watermark_fell_is_not_judged() -> None:
    story = Story().at(1)
    story.replica(2, Role.LEADER, end=9, high_watermark=8, isr=(2,))
    _ahead(story.at(2), "compacted", 7, 3)

    assert _texts(story) == []
