"""Offsets of a group that one administrator sets, deletes and reads."""

from __future__ import annotations

import pytest

from protocol.ids import TopicPartition
from protocol.topic_names import CONSUMER_OFFSETS
from simulation.core.checkers.group_offsets import check_group_offsets
from simulation.core.history import Commit, Function, Kind, Order
from simulation.core.samples import Damage, Role
from tests.simulation.core.checkers.build import TP, Story

HOME = TopicPartition(CONSUMER_OFFSETS, 0)
NONE = -1


class OffsetStory(Story):
    """One administrator, and broker 1 as its coordinator from the begin on."""

    def __init__(self) -> None:
        super().__init__()
        self.led_by(1, 0)

    def led_by(self, broker: int, epoch: int) -> None:
        self.partition(tp=HOME, leader=broker, epoch=epoch)
        self.replica(broker, Role.LEADER, tp=HOME, epoch=epoch)

    def change(
        self,
        offset: int,
        function: Function = Function.COMMIT,
        error: str = "",
        kind: Kind = Kind.OK,
    ) -> None:
        self.at(self.now_us / 1_000_000 + 1)
        told = Commit("g", ((TP, offset),))
        changing = self.history.begin("admin", function, told)
        if kind is Kind.OK:
            changing.ok(told)
        elif kind is Kind.FAIL:
            changing.fail(error)
        else:
            changing.unknown(error)

    def reads(self, offset: int, broker: int = 1) -> list[str]:
        """Return what is wrong with this answer, and what was before."""
        self.at(self.now_us / 1_000_000 + 1)
        reading = self.history.begin("admin", Function.FETCH_OFFSETS, Commit("g", ()))
        reading.ok(Commit("g", ((TP, offset),), broker))
        self.at(self.now_us / 1_000_000 + 1)
        return [violation.text for violation in check_group_offsets(self.evidence)]


def test_what_was_set_last_is_read_and_nothing_before_that() -> None:
    story = OffsetStory()
    assert story.reads(NONE) == []
    story.change(700)
    story.change(30)
    assert story.reads(30) == []
    (text,) = story.reads(700)
    assert text.startswith("broker 1 says at ")
    assert text.endswith("that group g has 700 in orders-0, and it was set to 30")


@pytest.mark.parametrize("function", [Function.DELETE_OFFSETS, Function.DELETE_GROUP])
def test_what_was_deleted_is_gone(function: Function) -> None:
    story = OffsetStory()
    story.change(5)
    story.change(NONE, function)
    assert story.reads(NONE) == []
    (text,) = story.reads(5)
    assert text.endswith("has 5 in orders-0, and it was set to none")


def test_a_deletion_that_was_refused_took_nothing() -> None:
    story = OffsetStory()
    story.change(5)
    story.change(NONE, Function.DELETE_GROUP, "COORDINATOR_LOAD_IN_PROGRESS", Kind.FAIL)
    (text,) = story.reads(NONE)
    assert text.endswith("has none in orders-0, and it was set to 5")


def test_what_was_not_answered_may_come_at_any_time() -> None:
    story = OffsetStory()
    story.change(5)
    story.change(6, error="NETWORK_EXCEPTION", kind=Kind.INFO)
    assert story.reads(5) == []
    assert story.reads(6) == []
    story.change(7)
    assert story.reads(6) == []


def test_what_was_answered_with_an_error_is_done_before_the_next_change_or_never() -> None:
    story = OffsetStory()
    story.change(5)
    story.change(6, error="NOT_COORDINATOR", kind=Kind.INFO)
    assert story.reads(6) == []
    story.change(7)
    (text,) = story.reads(6)
    assert text.endswith("has 6 in orders-0, and it was set to 7")


def test_a_coordinator_that_has_not_heard_that_it_is_none_any_more_proves_nothing() -> None:
    story = OffsetStory()
    story.change(5)
    story.at(3).partition(tp=HOME, leader=2, epoch=1)
    story.change(6)
    assert story.reads(5, broker=1) == []
    assert story.reads(5, broker=2) == []
    story.replica(2, Role.LEADER, tp=HOME, epoch=1)
    (text,) = story.reads(5, broker=2)
    assert text.startswith("broker 2 says")


def test_offsets_that_all_replicas_may_have_lost_prove_nothing() -> None:
    story = OffsetStory()
    story.partition(isr=(1,), replicas=(1,), tp=HOME)
    story.change(5)
    story.samples.damages.append(Damage(story.now_us, 1, "d1", "power cut"))
    assert story.reads(NONE) == []


def test_offsets_of_a_deleted_topic_prove_nothing() -> None:
    story = OffsetStory()
    story.change(5)
    story.order(Function.DELETE_TOPIC, Order(topic=TP.topic))
    assert story.reads(NONE) == []


def test_with_several_partitions_of_offsets_nobody_knows_the_coordinator() -> None:
    story = OffsetStory()
    story.partition(tp=TopicPartition(CONSUMER_OFFSETS, 1))
    story.change(5)
    assert story.reads(NONE) == []
