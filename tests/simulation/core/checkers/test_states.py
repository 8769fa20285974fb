from __future__ import annotations

import pytest

from simulation.core.checkers.states import check_states
from simulation.core.samples import NodeSample, ObeyedSample, Role, SampleSource
from tests.simulation.core.checkers.build import SECOND_US, Story


def _story() -> Story:
    story = Story().at(1)
    story.samples.sources = tuple(SampleSource)
    return story


def _texts(story: Story) -> list[str]:
    return [violation.text for violation in check_states(story.evidence)]


def test_what_makes_sense_is_well() -> None:
    story = _story()
    story.replica(1, Role.LEADER, start=2, high_watermark=5, end=5, isr=(1, 2))
    story.replica(2, start=2, high_watermark=2, end=4)
    story.partition(epoch=1)
    story.at(2).partition(leader=-1, isr=(2,), epoch=2)
    story.at(3).partition(leader=2, isr=(2,), epoch=3)

    assert _texts(story.at(4)) == []


@pytest.mark.parametrize(("start", "high_watermark", "end"), [(3, 2, 5), (0, 6, 5), (-1, 0, 0)])
@pytest.mark.parametrize("role", [Role.LEADER, Role.FOLLOWER])
def test_offsets_are_in_order(role: Role, start: int, high_watermark: int, end: int) -> None:
    story = _story()
    story.replica(1, role, start=start, high_watermark=high_watermark, end=end, isr=(1,))

    assert _texts(story) == [
        f"broker 1 has orders-0 with log start {start}, high watermark {high_watermark} and log "
        f"end {end}, which are out of order"
    ]


def test_offsets_that_were_asked_for_one_after_the_other_are_not_compared() -> None:
    story = _story()
    story.samples.sources = (SampleSource.DECISIONS, SampleSource.REPLICAS)
    story.replica(1, high_watermark=3)

    assert _texts(story) == []


def test_a_broker_leads_within_its_isr() -> None:
    story = _story()
    story.replica(1, Role.LEADER, isr=(2,))

    assert _texts(story) == ["broker 1 leads orders-0 outside of its Isr [2]"]


def test_the_controller_has_an_isr_of_replicas_with_the_leader_in_it() -> None:
    story = _story()
    story.partition(isr=(1, 4))
    story.at(2).partition(leader=2, isr=(1,), epoch=1)
    story.at(3).partition(isr=(1, 1), epoch=2)

    assert _texts(story) == [
        "the controller has brokers [4] in the Isr of orders-0, and its replicas are [1, 2]",
        "the controller has broker 2 lead orders-0 outside of its Isr [1]",
        "the controller has a broker twice in the Isr [1, 1] of orders-0",
    ]


def test_no_leader_epoch_falls_and_another_leader_has_another_one() -> None:
    story = _story()
    story.partition(epoch=3)
    story.at(2).partition(leader=2, epoch=3)
    story.at(3).partition(leader=2, epoch=2)

    assert _texts(story) == [
        "the controller gave orders-0 to broker 2 within leader epoch 3, in which broker 1 led",
        "the leader epoch of orders-0 fell from 3 to 2 in the controller",
    ]


def test_a_topic_made_anew_begins_anew() -> None:
    story = _story()
    story.partition(epoch=3, topic_id=b"a")
    story.at(2).partition(epoch=3, topic_id=b"a", is_deleted=True)
    story.at(3).partition(leader=2, epoch=0, topic_id=b"b")

    assert _texts(story) == []


def test_a_controller_that_starts_again_has_forgotten_what_was_not_durable() -> None:
    story = _story()
    story.partition(epoch=3)
    story.samples.nodes.append(NodeSample(2 * SECOND_US, "controller", is_up=True, boot=2))
    story.at(3).partition(epoch=2)
    assert _texts(story) == []

    story.at(4).partition(epoch=1)
    assert len(_texts(story)) == 1


def test_a_broker_obeys_no_controller_that_is_older_than_one_it_obeyed() -> None:
    story = _story()
    story.samples.obeyed = [
        ObeyedSample(1, 1, 1, 4),
        ObeyedSample(2, 1, 1, 5),
        ObeyedSample(2, 2, 1, 4),
        ObeyedSample(3, 1, 1, 4),
        ObeyedSample(4, 1, 1, 5),
        ObeyedSample(5, 1, 2, 0),
    ]

    assert _texts(story) == [
        "broker 1 obeys the controller of epoch 4, and obeyed that of epoch 5 before"
    ]
