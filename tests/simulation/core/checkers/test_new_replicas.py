from __future__ import annotations

from simulation.core.checkers.new_replicas import NewReplica, new_replicas
from simulation.core.history import Function, Order
from simulation.core.samples import Role
from tests.simulation.core.checkers.build import SECOND_US, TP, Story

WITHIN_US = 20_000


def _story() -> Story:
    """Broker 1 is a replica since 1 s and has its log in d1 at 2 s."""
    story = Story().at(1)
    story.partition()
    story.at(2).replica(1, Role.FOLLOWER, log_dir="d1")
    return story


def _after_the_first(story: Story) -> list[NewReplica]:
    first, *others = new_replicas(story.evidence)
    assert first == NewReplica(1, TP, "d1", SECOND_US - WITHIN_US, 2 * SECOND_US)
    return others


def test_a_replica_is_new_when_it_is_seen_first() -> None:
    assert _after_the_first(_story()) == []


def test_it_is_not_new_after_a_restart_or_as_a_leader() -> None:
    story = _story()
    story.at(3).replica(1, Role.GONE, log_dir="d1")
    story.at(4).replica(1, Role.LEADER, log_dir="d1")
    assert _after_the_first(story) == []


def test_one_that_comes_back_elsewhere_is_new() -> None:
    story = _story()
    story.at(3).replica(1, Role.OFFLINE, log_dir="d1")
    story.at(4).replica(1, Role.FOLLOWER, log_dir="d2")
    new = NewReplica(1, TP, "d2", 3 * SECOND_US - WITHIN_US, 4 * SECOND_US)
    assert _after_the_first(story) == [new]


def test_where_it_was_ordered_nobody_chose() -> None:
    story = _story()
    with story.history.begin("admin", Function.MOVE, Order(*TP, broker=1, log_dir="d2")) as order:
        order.fail("REPLICA_NOT_AVAILABLE")
    story.at(4).replica(1, Role.FOLLOWER, log_dir="d2")
    assert _after_the_first(story) == []


def test_one_that_was_reassigned_away_and_back_is_new_again() -> None:
    story = _story()
    story.at(3).partition(replicas=(2,))
    story.at(4).replica(1, Role.GONE, log_dir="d1")
    story.at(5).partition(replicas=(1, 2))
    story.at(6).replica(1, Role.FOLLOWER, log_dir="d1")
    new = NewReplica(1, TP, "d1", 5 * SECOND_US - WITHIN_US, 6 * SECOND_US)
    assert _after_the_first(story) == [new]


def test_one_that_is_back_before_its_log_was_gone_is_not() -> None:
    story = _story()
    story.at(3).partition(replicas=(2,))
    story.at(4).replica(1, Role.FOLLOWER, log_dir="d1", end=7)
    story.at(5).partition(replicas=(1, 2))
    story.at(6).replica(1, Role.FOLLOWER, log_dir="d1", end=8)
    assert _after_the_first(story) == []


def test_another_topic_of_the_name_has_new_replicas() -> None:
    story = _story()
    story.at(3).partition(is_deleted=True)
    story.at(4).partition(topic_id=b"other")
    story.at(5).replica(1, Role.GONE, log_dir="d1")
    made = story.samples.replicas[0]._replace(at_us=6 * SECOND_US, topic_id=b"other")
    story.samples.replicas.append(made)
    assert [each.seen_us for each in _after_the_first(story)] == [6 * SECOND_US]
