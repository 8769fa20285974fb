"""New replicas begin in log dirs that work."""

from __future__ import annotations

from simulation.core.checkers.unborn import unborn
from simulation.core.history import Function, Order
from simulation.core.samples import BrokerSample, FaultSample, LogDirSample, NodeSample, Role
from tests.simulation.core.checkers.build import SECOND_US, Story


def _texts(story: Story) -> list[str]:
    return [text for _, text in unborn(story.evidence)]


def _story(*, is_usable: bool = True) -> Story:
    """Log dir d1 of broker 2 is offline, and it gets a replica at 5 s."""
    story = Story().at(1)
    story.samples.brokers.append(BrokerSample(0, 2, is_usable))
    for path in ("d1", "d2"):
        story.samples.log_dirs.append(LogDirSample(0, 2, path, is_online=path == "d2"))
    story.at(2).partition(replicas=(1,), isr=(1,))
    story.at(5).partition(isr=(1,))
    return story.at(5.1)


def test_a_new_replica_is_made_in_another_log_dir_than_the_failed_one() -> None:
    story = _story()
    story.replica(2, log_dir="d2")
    assert _texts(story) == []

    story = _story()
    story.replica(2, Role.OFFLINE, log_dir="")
    assert _texts(story) == [
        "broker 2 has orders-0 offline, which is new to it since 5.000000 s, and d2 is online all "
        "the time"
    ]


def test_a_log_that_was_made_and_lost_between_two_looks_is_where_it_was() -> None:
    story = _story()
    story.replica(2, Role.OFFLINE, log_dir="d2")

    assert _texts(story) == []


def test_what_a_broker_had_before_goes_with_its_log_dir() -> None:
    story = _story()
    story.replica(2, log_dir="d2")
    story.at(6).replica(2, Role.OFFLINE, log_dir="d2")

    assert _texts(story) == []


def test_a_broker_that_was_dead_is_not_told_that_a_replica_is_new() -> None:
    story = _story(is_usable=False)
    story.replica(2, Role.OFFLINE, log_dir="")
    assert _texts(story) == []

    story = _story()
    story.replica(2, Role.OFFLINE, log_dir="")
    story.samples.nodes.append(NodeSample(int(4.97 * SECOND_US), "controller", is_up=False))
    assert _texts(story) == []

    story = _story()
    story.replica(2, Role.OFFLINE, log_dir="")
    story.samples.faults.append(FaultSample(SECOND_US, None, "broker-2", what="latency"))
    assert _texts(story) == []


def test_a_log_dir_that_fails_while_a_replica_is_made_takes_it_along() -> None:
    story = _story()
    story.samples.log_dirs.append(LogDirSample(int(5.05 * SECOND_US), 2, "d3", is_online=False))
    story.replica(2, Role.OFFLINE, log_dir="")

    assert _texts(story) == []


def test_without_a_log_dir_that_works_there_is_none_to_begin_in() -> None:
    story = _story()
    story.samples.log_dirs.pop()
    story.replica(2, Role.OFFLINE, log_dir="")

    assert _texts(story) == []


def test_a_replica_that_was_ordered_to_go_to_the_failed_log_dir_waits_for_it() -> None:
    story = _story()
    order = Order("orders", 0, broker=2, log_dir="d1")
    story.history.begin("admin", Function.MOVE, order).fail("REPLICA_NOT_AVAILABLE")
    story.replica(2, Role.OFFLINE, log_dir="")

    assert _texts(story) == []


def test_a_topic_that_is_made_anew_is_new_to_who_had_the_old_one() -> None:
    story = _story()
    story.replica(2, log_dir="d2")
    story.at(6).partition(isr=(1,), topic_id=b"new")
    story.at(6.1).replica(2, Role.OFFLINE, topic_id=b"old")
    assert _texts(story) == []

    story.replica(2, Role.OFFLINE, log_dir="")
    assert len(_texts(story)) == 1
