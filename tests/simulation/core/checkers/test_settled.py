from __future__ import annotations

import pytest

from simulation.core.checkers.settled import UNMARKED, check_settled
from simulation.core.samples import Damage, Role, SampleSource
from tests.simulation.core.checkers.build import SECOND_US, TP, Story

BOTH = (1, 2)


def _story(**follower: int) -> Story:
    """Broker 1 leads with ten records, broker 2 follows; ``follower`` says how it differs."""
    story = Story().at(3)
    story.samples.sources = tuple(SampleSource)
    story.samples.healed_us = 2 * SECOND_US
    story.partition(epoch=1)
    story.replica(1, Role.LEADER, epoch=1, start=2, end=10, high_watermark=10, isr=BOTH)
    shape = {"epoch": 1, "start": 2, "end": 10, "high_watermark": 10} | follower
    story.replica(
        2,
        epoch=shape["epoch"],
        start=shape["start"],
        end=shape["end"],
        high_watermark=shape["high_watermark"],
    )
    return story


def _texts(story: Story) -> list[str]:
    return [violation.text for violation in check_settled(story.evidence)]


def test_a_follower_with_all_that_its_leader_has_is_well() -> None:
    assert _texts(_story()) == []
    assert _texts(_story(start=5)) == [], "retention may have gone further there"


@pytest.mark.parametrize(
    "follower", [{"end": 9, "high_watermark": 9}, {"high_watermark": 9}, {"start": 1}]
)
def test_one_with_less_is_not(follower: dict[str, int]) -> None:
    (text,) = _texts(_story(**follower))

    assert text.startswith(
        "broker 2 is in the Isr of orders-0 with log start, high watermark and log end"
    )


def test_nor_is_one_that_follows_at_another_epoch_or_not_at_all() -> None:
    (text,) = _texts(_story(epoch=0))
    assert text == (
        "broker 2 is in the Isr of orders-0 at leader epoch 1, and does not follow it there"
    )

    story = _story()
    story.replica(2, Role.GONE, epoch=1)
    assert _texts(story) == [text]


def test_a_full_isr_commits_all_that_there_is() -> None:
    story = _story()
    story.replica(1, Role.LEADER, epoch=1, start=2, end=10, high_watermark=7, isr=BOTH)

    assert _texts(story) == [
        "broker 1 leads orders-0 with a full Isr, and of its records up to offset 9 those from 7 "
        "on are not committed"
    ]


def test_a_smaller_isr_may_be_too_small_to_commit_anything() -> None:
    story = _story()
    story.partition(epoch=1, isr=(1,), offline=(2,))
    story.replica(1, Role.LEADER, epoch=1, end=10, high_watermark=7, isr=(1,))

    assert _texts(story) == []


def test_a_leader_has_the_controllers_isr() -> None:
    story = _story()
    story.replica(1, Role.LEADER, epoch=1, start=2, end=10, high_watermark=10, isr=(1,))

    assert _texts(story) == [
        "broker 1 leads orders-0 with the Isr [1], and the controller has [1, 2]"
    ]


def test_whom_the_controller_knows_to_be_offline_is_not_waited_for() -> None:
    story = _story(end=3, high_watermark=3)
    story.partition(epoch=1, offline=(2,))

    assert _texts(story) == []


def test_runs_that_were_not_healed_and_looks_one_after_the_other_are_not_judged() -> None:
    story = _story(end=9, high_watermark=9)
    story.samples.healed_us = None
    assert _texts(story) == []

    story.samples.healed_us = 2 * SECOND_US
    story.samples.sources = (SampleSource.DECISIONS, SampleSource.REPLICAS)
    assert _texts(story) == []


def test_what_a_coordinator_had_otherwise_than_its_log_is_told_of_any_run() -> None:
    story = _story()
    story.samples.healed_us = None
    story.samples.misloads.append((5, "broker 1 has offsets"))
    assert _texts(story) == ["broker 1 has offsets"]


@pytest.mark.parametrize("topic", ["__transaction_state", "orders"])
def test_a_coordinator_that_forgot_may_have_transactions_that_never_end(topic: str) -> None:
    tp, text = TP._replace(topic=topic), f"broker 1 has pay as PREPARE_ABORT, and {UNMARKED}"
    story = Story().at(3)
    story.samples.sources = tuple(SampleSource)
    story.samples.healed_us = 2 * SECOND_US
    story.partition(isr=(1,), replicas=(1,), tp=tp)
    story.replica(1, tp=tp)
    story.samples.contradictions.append(text)
    assert text in _texts(story)
    story.samples.damages.append(Damage(3 * SECOND_US + 1, 1, "d1", "power cut"))
    assert (text in _texts(story)) is (topic == "orders")
