from __future__ import annotations

from collections.abc import Callable

import pytest

from simulation.core.checkers.ordered_places import broken_places
from simulation.core.checkers.ordering import ordered_of
from simulation.core.history import Function, Order
from simulation.core.samples import Damage, FaultSample, LogDirSample, NodeSample, Role
from tests.simulation.core.checkers.build import SECOND_US, TP, Story


def _texts(story: Story) -> list[str]:
    evidence = story.at(60).evidence
    return list(broken_places(ordered_of(evidence), evidence))


# Moves.


def _moved_story() -> Story:
    """Broker 1 has its replica in d1 and is ordered at 5 s to keep it in d2."""
    story = Story().at(1)
    story.samples.nodes.append(NodeSample(0, "broker-1", is_up=True))
    story.replica(1, Role.LEADER)
    story.at(5).order(Function.MOVE, Order(*TP, broker=1, log_dir="d2"))
    return story


def test_a_replica_that_is_not_where_it_was_ordered() -> None:
    story = _moved_story()
    story.log(1, log_dir="d1")

    assert _texts(story) == [
        "broker 1 has orders-0 in d1, and was ordered to keep it in d2, answered at 5.000000 s"
    ]


def test_one_that_is_there_is_right_and_so_is_a_later_order() -> None:
    story = _moved_story()
    story.log(1, log_dir="d2")
    assert _texts(story) == []

    story.order(Function.MOVE, Order(*TP, broker=1, log_dir="d3"))
    assert len(_texts(story)) == 1


def test_who_was_down_or_lost_a_disk_or_the_replica_may_forget_a_move() -> None:
    excuses: tuple[Callable[[Story], None], ...] = (
        lambda story: story.samples.nodes.append(
            NodeSample(9 * SECOND_US, "broker-1", is_up=True, boot=2)
        ),
        lambda story: story.samples.damages.append(Damage(9 * SECOND_US, 1, "d2", "emptied")),
        lambda story: story.samples.faults.append(
            FaultSample(4 * SECOND_US, None, "broker-1", "d2", "eio")
        ),
        lambda story: story.at(9).replica(1, Role.GONE),
    )
    for excuse in excuses:
        story = _moved_story()
        story.log(1, log_dir="d1")
        excuse(story)
        assert _texts(story) == []


def test_a_replica_that_was_taken_away_and_came_back_unseen_may_forget_a_move() -> None:
    to_others = Order(*TP, assignment=((2, 3),))
    excuses: tuple[Callable[[Story], object], ...] = (
        lambda story: story.at(9).partition(replicas=(2, 3)),
        lambda story: story.at(9).order(Function.REASSIGN, to_others),
    )
    for excuse in excuses:
        story = _moved_story()
        story.log(1, log_dir="d1")
        excuse(story)
        assert _texts(story) == []


def test_a_reassignment_that_keeps_the_replica_or_was_long_before_excuses_no_move() -> None:
    story = Story().at(1)
    story.partition(replicas=(2, 3))
    story.order(Function.REASSIGN, Order(*TP, assignment=((2, 3),)))
    story.at(2).partition(replicas=(1, 2, 3))
    story.replica(1)
    story.at(5).order(Function.MOVE, Order(*TP, broker=1, log_dir="d2"))
    story.at(9).order(Function.REASSIGN, Order(*TP, assignment=((1, 3),)))
    story.partition(replicas=(1, 3))
    story.log(1, log_dir="d1")

    assert len(_texts(story)) == 1


def test_a_wish_for_a_replica_that_is_not_there_yet_is_only_remembered() -> None:
    story = Story().at(5)
    story.order(Function.MOVE, Order(*TP, broker=1, log_dir="d2"))
    story.at(6).replica(1)
    story.log(1, log_dir="d1")

    assert _texts(story) == []


# Cordons.


def _cordon(story: Story, log_dirs: str) -> None:
    configs = (("cordoned.log.dirs", log_dirs),)
    story.order(Function.ALTER_CONFIGS, Order(broker=1, configs=configs))


def _put(story: Story, log_dir: str) -> None:
    story.partition(replicas=(1,))
    story.replica(1, Role.LEADER, log_dir=log_dir)


def test_a_replica_that_is_put_behind_a_cordon() -> None:
    story = Story()
    story.samples.log_dirs.append(LogDirSample(0, 1, "d3", is_online=True))
    _cordon(story.at(1), "d1,d2")
    _put(story.at(5), "d2")

    assert _texts(story) == [
        "broker 1 put orders-0 into d2 at 5.000000 s, which is cordoned since 1.000000 s"
    ]


def test_where_no_other_log_dir_works_a_replica_goes_behind_the_cordon() -> None:
    story = Story()
    story.samples.log_dirs.append(LogDirSample(0, 1, "d3", is_online=False))
    _cordon(story.at(1), "d1,d2")
    _put(story.at(5), "d2")

    assert _texts(story) == []


def test_one_elsewhere_or_before_or_after_it_is_right() -> None:
    elsewhere = Story()
    _cordon(elsewhere.at(1), "d1")
    _put(elsewhere.at(5), "d2")
    before = Story()
    _put(before.at(1), "d1")
    _cordon(before.at(5), "d1")
    after = Story()
    _cordon(after.at(1), "d1")
    _cordon(after.at(3), "")
    _put(after.at(5), "d1")

    for story in (elsewhere, before, after):
        assert _texts(story) == []


def test_a_log_dir_that_was_wished_takes_it_all_the_same() -> None:
    story = Story()
    wish = story.history.begin("admin", Function.MOVE, Order(*TP, broker=1, log_dir="d1"))
    wish.fail("REPLICA_NOT_AVAILABLE")
    _cordon(story.at(1), "d1")
    _put(story.at(5), "d1")

    assert _texts(story) == []


# Deleted records.


def _deleted_story(start: int) -> Story:
    story = Story().at(1)
    story.order(Function.DELETE_RECORDS, Order(*TP, offset=5))
    story.log(1, 7, 8, 9, start=start, is_leader=True)
    return story


@pytest.mark.parametrize(("start", "count"), [(4, 1), (5, 0), (6, 0)])
def test_a_log_that_begins_before_what_was_deleted(start: int, count: int) -> None:
    assert len(_texts(_deleted_story(start))) == count


def test_a_leader_that_had_just_joined_the_isr_may_not_have_heard_what_was_deleted() -> None:
    story = _deleted_story(4)
    story.partition(isr=(2,), leader=2)
    story.at(2).partition(isr=(2, 1), leader=2)
    story.at(2.3).partition(isr=(2, 1), leader=1, epoch=1)

    assert _texts(story) == []


def test_a_topic_that_was_deleted_since_began_anew() -> None:
    story = _deleted_story(0)
    story.at(2).order(Function.DELETE_TOPIC, Order(TP.topic))

    assert _texts(story) == []
