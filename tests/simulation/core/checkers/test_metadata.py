from __future__ import annotations

import pytest

from protocol.faults.model import DiskMode
from simulation.core.checkers.metadata import check_metadata
from simulation.core.history import Function, Order
from simulation.core.samples import FaultSample, NodeSample, ToldPartition, TopicView
from tests.simulation.core.checkers.build import SECOND_US, TP, Story

AS_DECIDED = ToldPartition(1, 0, (1, 2), ())


def _story() -> Story:
    """Broker 1 leads since 1 s."""
    story = Story().at(1)
    story.partition()
    return story


def _told(story: Story, told: ToldPartition | None, broker: int = 2, *named: str) -> list[str]:
    found = {} if told is None else {TP: told}
    view = TopicView(story.now_us - 1000, story.now_us, broker, named or None, {}, found)
    story.samples.views.append(view)
    return [violation.text for violation in check_metadata(story.evidence)]


def test_what_was_decided_is_told() -> None:
    assert _told(_story().at(9), AS_DECIDED) == []


def test_an_old_leader_is_told_for_a_moment_only() -> None:
    story = _story().at(5)
    story.partition(leader=2, epoch=1, isr=(2,), offline=(1,))
    assert _told(story.at(5.5), AS_DECIDED) == []

    assert _told(story.at(6), AS_DECIDED) == [
        "broker 2 tells that orders-0 has leader 1 at epoch 0, Isr [1, 2], offline replicas []; "
        "since 5.000000 s the controller has leader 2 at epoch 1, Isr [2], offline replicas [1]"
    ]


@pytest.mark.parametrize(
    "told",
    [
        AS_DECIDED._replace(leader=2),
        AS_DECIDED._replace(leader=-1),
        AS_DECIDED._replace(leader_epoch=1),
        AS_DECIDED._replace(isr=(1,)),
        AS_DECIDED._replace(offline=(2,)),
        None,
    ],
)
def test_each_part_counts(told: ToldPartition | None) -> None:
    assert len(_told(_story().at(9), told)) == 1


def test_offline_replicas_are_told() -> None:
    story = _story().at(5)
    story.partition(isr=(1,), offline=(2,))
    assert len(_told(story.at(9), AS_DECIDED._replace(isr=(1,)))) == 1
    assert _told(_story().at(9), AS_DECIDED) == []


def test_looks_that_are_far_apart_leave_more_time() -> None:
    story = _story().at(5)
    story.samples.seen_within_us = SECOND_US // 5
    story.partition(leader=2, epoch=1)
    assert _told(story.at(7), AS_DECIDED) == []
    assert len(_told(story.at(8), AS_DECIDED)) == 1


def test_what_nobody_asked_for_need_not_be_told() -> None:
    story = _story().at(9)
    assert _told(story, None, 2, "payments") == []
    assert _told(story, None, 2, "orders") == [
        "broker 2 does not tell of orders-0; since "
        "1.000000 s the controller has leader 1 at epoch 0, Isr [1, 2], offline replicas []"
    ]


def test_deleted_topics_and_those_without_leadership_are_not_judged() -> None:
    story = _story().at(5)
    story.partition(is_deleted=True)
    assert _told(story.at(9), AS_DECIDED) == []
    fresh = Story().at(1)
    fresh.partition(epoch=-1, leader=-1)
    assert _told(fresh.at(9), None) == []


def test_a_topic_whose_deletion_was_ordered_may_be_gone_before_anybody_saw_it() -> None:
    story = _story().at(5)
    story.order(Function.DELETE_TOPIC, Order("orders"))
    assert _told(story.at(9), None) == []


def test_a_decision_that_its_controller_told_and_took_along_was_seen_by_nobody() -> None:
    story = _story().at(9)
    story.samples.nodes.append(NodeSample(9 * SECOND_US + 9_000, "controller", is_up=False))
    assert _told(story, AS_DECIDED._replace(leader_epoch=1)) == []


def test_a_broker_that_stops_cleanly_counts_as_offline_before_it_is_dead() -> None:
    story = _story().at(9)
    story.samples.nodes.append(NodeSample(12 * SECOND_US, "broker-2", is_up=False))
    assert _told(story, AS_DECIDED._replace(offline=(2,)), 1) == []
    assert len(_told(story, AS_DECIDED._replace(offline=(1,)), 1)) == 1


@pytest.mark.parametrize(("ends", "is_told"), [(True, False), (False, True)])
def test_a_broker_that_left_and_still_answers_is_told_nothing_more(
    ends: bool, is_told: bool
) -> None:
    story = _story().at(9)
    if ends:
        story.samples.nodes.append(NodeSample(11 * SECOND_US, "broker-2", is_up=False))
    left = AS_DECIDED._replace(isr=(1,), offline=(2,))
    assert bool(_told(story, left)) is is_told


def _of_a_broker_that_begins(*, offline: tuple[int, ...] = (2,)) -> Story:
    """The replica of broker 2 is offline since 5 s; it began anew a moment before 9 s."""
    story = _story().at(5)
    story.partition(isr=(1,), offline=offline)
    story.at(9).samples.nodes += [
        NodeSample(0, "broker-2", is_up=True, boot=1),
        NodeSample(8 * SECOND_US, "broker-2", is_up=False),
        NodeSample(9 * SECOND_US - 10_000, "broker-2", is_up=True, boot=2),
    ]
    return story


def test_a_broker_that_begins_has_its_log_dir_until_that_fails_again() -> None:
    assert _told(_of_a_broker_that_begins(), AS_DECIDED._replace(isr=(1,)), 1) == []


def test_what_a_broker_was_before_it_began_is_dead_for_a_moment() -> None:
    story = _of_a_broker_that_begins(offline=())
    gone = AS_DECIDED._replace(isr=(1,), offline=(2,))
    assert _told(story, gone, 1) == []
    assert len(_told(story, gone._replace(offline=(1, 2)), 1)) == 1


@pytest.mark.parametrize("told", [AS_DECIDED, AS_DECIDED._replace(isr=(1,), offline=(1,)), None])
def test_nothing_else_is_excused_by_a_broker_that_begins(told: ToldPartition | None) -> None:
    assert len(_told(_of_a_broker_that_begins(), told, 1)) == 1


def test_a_broker_that_began_long_ago_is_as_offline_as_decided() -> None:
    story = _story().at(5)
    story.partition(isr=(1,), offline=(2,))
    story.samples.nodes.append(NodeSample(5 * SECOND_US, "broker-2", is_up=True, boot=1))
    assert len(_told(story.at(9), AS_DECIDED._replace(isr=(1,)), 1)) == 1


def _of_a_broker_that_registers_late() -> Story:
    """What broker 2 tells the controller waits since it began at 4 s."""
    story = _story().at(3)
    story.partition(isr=(1,), offline=(2,))
    story.samples.nodes += [
        NodeSample(0, "broker-2", is_up=False),
        NodeSample(4 * SECOND_US, "broker-2", is_up=True, boot=1),
    ]
    return story.at(9)


def test_one_that_registers_late_has_its_log_dir_for_a_moment_then() -> None:
    between = ("controller", "broker-2")
    fault = FaultSample(4 * SECOND_US, 9 * SECOND_US, "", what="latency", between=between)
    story, long_ago = _of_a_broker_that_registers_late(), _of_a_broker_that_registers_late()
    for each in (story, long_ago):
        each.samples.faults.append(fault)
    assert _told(story, AS_DECIDED._replace(isr=(1,)), 1) == []
    assert len(_told(long_ago.at(16), AS_DECIDED._replace(isr=(1,)), 1)) == 1
    assert len(_told(_of_a_broker_that_registers_late(), AS_DECIDED._replace(isr=(1,)), 1)) == 1


def test_one_broker_may_begin_while_another_stops() -> None:
    story = _of_a_broker_that_begins()
    story.samples.nodes.append(NodeSample(12 * SECOND_US, "broker-1", is_up=False))
    assert _told(story, AS_DECIDED._replace(isr=(1,), offline=(1,)), 3) == []


@pytest.mark.parametrize(
    "fault",
    [
        FaultSample(0, None, "", what="cut"),
        FaultSample(0, None, "broker-2", what="slow CPU"),
        FaultSample(0, None, "controller", "/c", "eio"),
        FaultSample(0, None, "broker-2", "d1", DiskMode.HANG.value),
    ],
)
def test_what_stands_between_excuses(fault: FaultSample) -> None:
    story = _story().at(9)
    story.samples.faults.append(fault)
    assert _told(story, None) == []


@pytest.mark.parametrize(
    "fault",
    [
        FaultSample(0, None, "broker-1", what="slow CPU"),
        FaultSample(0, None, "broker-2", "d1", DiskMode.EIO.value),
        FaultSample(0, None, "broker-1", "d1", DiskMode.HANG.value),
    ],
)
def test_what_is_broken_elsewhere_does_not(fault: FaultSample) -> None:
    story = _story().at(9)
    story.samples.faults.append(fault)
    assert len(_told(story, None)) == 1


def test_nothing_is_expected_when_the_controller_just_began_again() -> None:
    story = _story().at(9)
    story.samples.nodes += [
        NodeSample(0, "controller", is_up=True, boot=1),
        NodeSample(2 * SECOND_US, "controller", is_up=True, boot=2),
    ]
    assert _told(story, None) == []
    assert len(_told(story.at(20), None)) == 1


def test_what_an_examiner_made_may_be_hidden_from_who_may_not_describe_it() -> None:
    hidden = TP._replace(topic="conform-topic1")
    story = Story().at(1)
    story.partition(tp=hidden)
    assert _told(story.at(9), None) == []
