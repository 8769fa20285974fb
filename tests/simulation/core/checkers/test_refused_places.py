from __future__ import annotations

import pytest

from protocol.faults.model import CONTROLLER_NODE
from simulation.core.checkers.refused_places import check_refused_places
from simulation.core.history import Function, Order
from simulation.core.samples import BrokerSample, LogDirSample, NodeSample, Role
from tests.simulation.core.checkers.build import SECOND_US, TP, Story


def _log_dir(story: Story, path: str, *, is_online: bool = True, is_cordoned: bool = False) -> None:
    story.samples.log_dirs.append(LogDirSample(story.now_us, 1, path, is_online, is_cordoned))


def _story(*, is_online: bool = True, is_cordoned: bool = True, has_other: bool = True) -> Story:
    """Broker 1 has d1, which is cordoned, and d2; it becomes a replica at 5 s."""
    story = Story().at(1)
    _log_dir(story, "d1", is_online=is_online, is_cordoned=is_cordoned)
    _log_dir(story, "d2", is_cordoned=not has_other)
    story.at(5).partition()
    return story


def _texts(story: Story) -> list[str]:
    return [violation.text for violation in check_refused_places(story.at(60).evidence)]


def test_a_replica_behind_a_cordon() -> None:
    story = _story()
    story.at(6).replica(1, log_dir="d1")
    assert _texts(story) == ["broker 1 put orders-0 into d1, which is cordoned since 1.000000 s"]


def test_a_replica_in_an_open_log_dir() -> None:
    story = _story()
    story.at(6).replica(1, log_dir="d2")
    assert _texts(story) == []


def test_behind_a_cordon_is_better_than_nowhere() -> None:
    story = _story(has_other=False)
    story.at(6).replica(1, log_dir="d1")
    assert _texts(story) == []


def test_a_cordon_that_came_meanwhile_says_nothing() -> None:
    story = _story(is_cordoned=False)
    _log_dir(story.at(5.5), "d1", is_cordoned=True)
    story.at(6).replica(1, log_dir="d1")
    assert _texts(story) == []


def test_so_does_another_log_dir_that_failed_meanwhile() -> None:
    story = _story()
    _log_dir(story.at(5.5), "d2", is_online=False)
    story.at(6).replica(1, log_dir="d1")
    assert _texts(story) == []


def test_a_replica_in_a_log_dir_that_is_offline() -> None:
    story = _story(is_online=False)
    story.at(6).replica(1, log_dir="d1")
    assert _texts(story) == ["broker 1 put orders-0 into d1, which is offline since 1.000000 s"]


def test_a_lost_replica_is_made_anew_behind_a_cordon() -> None:
    story = _story()
    story.at(6).replica(1, log_dir="d2")
    story.at(7).replica(1, Role.OFFLINE, log_dir="d2")
    _log_dir(story.at(8), "d3")
    story.at(9).replica(1, Role.OFFLINE, log_dir="d2", end=1)
    story.at(10).replica(1, log_dir="d1")
    assert len(_texts(story)) == 1


def test_a_move_that_is_taken_although_its_target_is_cordoned() -> None:
    story = _story()
    story.at(6).order(Function.MOVE, Order(*TP, broker=1, log_dir="d1"))
    story.order(Function.MOVE, Order(*TP, broker=1, log_dir="d2"))
    assert _texts(story) == [
        "broker 1 took the order to move orders-0 to d1, which is cordoned since 1.000000 s"
    ]


def test_a_move_that_was_refused_is_none() -> None:
    story = _story()
    with story.history.begin("admin", Function.MOVE, Order(*TP, broker=1, log_dir="d1")) as order:
        order.fail("INVALID_REPLICA_ASSIGNMENT")
    assert _texts(story) == []


@pytest.mark.parametrize(("began_s", "told"), [(5.9, 0), (5.2, 1)])
def test_nobody_had_looked_at_the_log_dirs_of_a_process_that_had_just_begun(
    began_s: float, told: int
) -> None:
    """Seed 1113680: the log dir had been offline in the process before."""
    story = _story(is_online=False)
    story.samples.nodes.append(NodeSample(int(began_s * SECOND_US), "broker-1", is_up=True, boot=1))
    story.at(6).order(Function.MOVE, Order(*TP, broker=1, log_dir="d1"))
    assert len(_texts(story)) == told


def _created(order: Order, *brokers: BrokerSample) -> list[str]:
    story = Story().at(5)
    story.samples.brokers += brokers
    with story.history.begin("admin", Function.CREATE_TOPIC, order) as invocation:
        story.at(5.1).partition()
        invocation.ok(order)
    return _texts(story)


def test_the_controller_chooses_no_broker_that_can_take_nothing() -> None:
    full = BrokerSample(2 * SECOND_US, 1, is_usable=False)
    order = Order("orders", partitions=1)
    assert _created(order, full) == [
        "the controller chose broker 1 for orders-0, which is dead, or all of whose log dirs are "
        "cordoned or offline"
    ]
    assert _created(order) == []
    assert _created(order, full, BrokerSample(5_050_000, 1, is_usable=True)) == []
    assert _created(order._replace(assignment=((1, 2),)), full) == []


@pytest.mark.parametrize(("at", "is_well"), [(4.4, False), (4.6, True), (5.5, True), (5.7, False)])
def test_a_broker_that_starts_or_ends_may_have_been_live_between_two_looks(
    at: float, is_well: bool
) -> None:
    """Seed 1043949: it was stopped as soon as the controller had it live again."""
    story = Story().at(5)
    story.samples.brokers.append(BrokerSample(2 * SECOND_US, 1, is_usable=False))
    story.samples.nodes.append(NodeSample(int(at * SECOND_US), "broker-1", is_up=True))
    order = Order("orders", partitions=1)
    with story.history.begin("admin", Function.CREATE_TOPIC, order) as invocation:
        story.at(5.1).partition()
        invocation.ok(order)
    assert (_texts(story) == []) is is_well


def _reassigned(order: Order, *brokers: BrokerSample, edited_us: int | None = None) -> list[str]:
    story = Story().at(1)
    story.samples.journal_edits_us += [] if edited_us is None else [edited_us]
    story.partition(replicas=(2,), isr=(2,), leader=2)
    story.samples.brokers += brokers
    with story.at(5).history.begin("admin", Function.REASSIGN, order) as invocation:
        story.at(5.1).partition(replicas=(1, 2), isr=(2,), leader=2)
        invocation.ok(order)
    return _texts(story)


@pytest.mark.parametrize(("down_s", "is_told"), [(5.105, False), (6, True)])
def test_nobody_looks_at_a_controller_that_ended_right_after_an_order(
    down_s: float, *, is_told: bool
) -> None:
    """Seed 983644: the broker had just come back when the order was taken."""
    story = Story().at(1)
    story.partition(replicas=(2,), isr=(2,), leader=2)
    story.samples.brokers.append(BrokerSample(2 * SECOND_US, 1, is_usable=False))
    order = Order(*TP, assignment=((1, 2),))
    with story.at(5).history.begin("admin", Function.REASSIGN, order) as invocation:
        story.at(5.1).partition(replicas=(1, 2), isr=(2,), leader=2)
        invocation.ok(order)
    ended = NodeSample(int(down_s * SECOND_US), CONTROLLER_NODE, is_up=False)
    story.samples.nodes += [ended, ended._replace(at_us=8 * SECOND_US, is_up=True, boot=1)]
    story.samples.brokers.append(BrokerSample(8_005_000, 1, is_usable=True))
    assert bool(_texts(story)) is is_told


def test_no_replica_is_ordered_to_a_broker_that_can_take_nothing() -> None:
    full = BrokerSample(2 * SECOND_US, 1, is_usable=False)
    order = Order(*TP, assignment=((1, 2),))
    assert _reassigned(order, full) == [
        "the controller took the order to have a replica of orders-0 on broker 1, which is dead, "
        "or all of whose log dirs are cordoned or offline"
    ]
    assert _reassigned(order) == []
    assert _reassigned(order, full, BrokerSample(5_050_000, 1, is_usable=True)) == []
    for life in ((4, False), (-1, True)):  # It was live between two looks: 1068437, 1158162.
        assert _reassigned(order, full, full._replace(at_us=5_050_000, life=life)) == []
    assert _reassigned(Order(*TP, assignment=((2,),)), full._replace(broker=2)) == []
    assert _reassigned(Order(*TP), full) == []


@pytest.mark.parametrize(("edited_s", "told"), [(4, 0), (-15, 1), (7, 1)])
def test_a_controller_whose_journal_was_put_back_may_have_learned_of_other_replicas(
    edited_s: int, told: int
) -> None:
    """Nobody had looked since (seed 1066647)."""
    full = BrokerSample(2 * SECOND_US, 1, is_usable=False)
    order = Order(*TP, assignment=((1, 2),))
    assert len(_reassigned(order, full, edited_us=edited_s * SECOND_US)) == told
