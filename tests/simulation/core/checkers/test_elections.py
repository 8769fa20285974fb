"""A leader from outside of the Isr only where an unclean election was allowed."""

from __future__ import annotations

import pytest

from simulation.core.checkers.elections import check_elections
from simulation.core.history import Function, Order
from simulation.core.samples import (
    BrokerConfigsSample,
    BrokerSample,
    FaultSample,
    LogDirSample,
    NodeSample,
    TopicSample,
)
from tests.simulation.core.checkers.build import Story

_KEY = "unclean.leader.election.enable"
_ORDER = Order("orders", 0, detail="unclean")


def _texts(story: Story) -> list[str]:
    return [violation.text for violation in check_elections(story.evidence)]


def _unclean(story: Story) -> None:
    story.partition(leader=1, isr=(1,), epoch=3)
    story.at(2).partition(leader=-1, isr=(1,), epoch=4)
    story.at(3).partition(leader=2, isr=(2,), epoch=5)


def test_a_leader_out_of_the_isr_is_fine() -> None:
    story = Story().at(1)
    story.partition(leader=1, isr=(1, 2))
    story.at(2).partition(leader=2, isr=(2,), epoch=1)

    assert _texts(story) == []


def test_a_leader_from_outside_of_the_isr_was_not_allowed() -> None:
    story = Story().at(1)
    _unclean(story)

    assert _texts(story) == [
        "broker 2 leads orders-0 at epoch 5, its Isr was [1] at epoch 4, and nothing allowed an "
        "unclean election then"
    ]


@pytest.mark.parametrize(("value", "is_allowed"), [("true", True), ("false", False)])
def test_the_topics_configuration_allows_it(value: str, is_allowed: bool) -> None:
    story = Story().at(0)
    story.samples.topics.append(TopicSample(0, "orders", {_KEY: value}))
    _unclean(story.at(1))

    assert (_texts(story) == []) is is_allowed


def test_a_configuration_that_was_taken_off_before_allows_nothing() -> None:
    story = Story().at(0)
    story.samples.topics.append(TopicSample(0, "orders", {_KEY: "true"}))
    story.samples.topics.append(TopicSample(2_500_000, "orders", {}))
    _unclean(story.at(1))

    assert len(_texts(story)) == 1


def test_the_brokers_configuration_allows_it_unless_the_topic_says_otherwise() -> None:
    story = Story().at(0)
    story.samples.broker_configs.append(BrokerConfigsSample(0, "", {_KEY: "true"}))
    _unclean(story.at(1))
    assert _texts(story) == []

    story.samples.topics.append(TopicSample(0, "orders", {_KEY: "false"}))
    assert len(_texts(story)) == 1


def test_the_cluster_file_allows_it() -> None:
    story = Story().at(1)
    _unclean(story)
    story.configs = {_KEY: "true"}

    assert _texts(story) == []


def test_an_order_allows_it_while_it_is_under_way() -> None:
    story = Story().at(1)
    ordering = story.history.begin("admin", Function.ELECT, _ORDER)
    _unclean(story)
    ordering.ok(_ORDER)

    assert _texts(story) == []


def test_an_order_that_was_over_or_refused_or_meant_another_allows_nothing() -> None:
    story = Story().at(0.5)
    story.order(Function.ELECT, _ORDER)
    story.at(0.6).order(Function.ELECT, Order("orders", 1, detail="unclean"))
    story.history.begin("admin", Function.ELECT, _ORDER).fail("ELECTION_NOT_NEEDED")
    story.history.begin("admin", Function.ELECT, _ORDER._replace(detail="preferred")).unknown("?")
    _unclean(story.at(1))

    assert len(_texts(story)) == 1


def test_an_order_of_which_nobody_knows_may_come_at_any_later_time() -> None:
    story = Story().at(0.5)
    story.history.begin("admin", Function.ELECT, _ORDER).unknown("REQUEST_TIMED_OUT")
    _unclean(story.at(1))

    assert _texts(story) == []


def test_what_changed_twice_between_two_looks_and_what_a_hand_changed_is_not_judged() -> None:
    story = Story().at(1)
    _unclean(story)
    last = story.samples.partitions[-1]
    story.samples.partitions[-1] = last._replace(partition_epoch=9)
    assert _texts(story) == []

    story.samples.partitions[-1] = last
    story.samples.journal_edits_us.append(2_000_000)
    assert _texts(story) == []


@pytest.mark.parametrize(("value", "is_allowed"), [("true", True), ("false", False)])
def test_a_leader_that_recovers_was_elected_unclean_whatever_isr_was_seen(
    value: str, is_allowed: bool
) -> None:
    story = Story().at(0)
    story.samples.topics.append(TopicSample(0, "orders", {_KEY: value}))
    story.at(1).partition(leader=1, isr=(1, 2))
    story.at(2).partition(leader=2, isr=(2,), epoch=1, is_recovering=True)
    last = story.samples.partitions[-1]
    story.samples.partitions[-1] = last._replace(partition_epoch=9)
    story.at(3).partition(leader=2, isr=(2,), epoch=2, is_recovering=True)

    assert (_texts(story) == []) is is_allowed
    assert len(_texts(story)) <= 1, "one election is told of once"


def test_a_topic_that_was_made_anew_begins_anew() -> None:
    story = Story().at(1)
    story.partition(leader=1, isr=(1,), topic_id=b"a")
    story.at(2).partition(leader=2, isr=(2,), topic_id=b"b")

    assert _texts(story) == []


def _left_alone(
    *, isr: tuple[int, ...] = (1,), offline: tuple[int, ...] = (1,), value: str = "true"
) -> Story:
    """Nobody leads from 2 s to 5 s."""
    story = Story().at(0)
    story.samples.topics.append(TopicSample(0, "orders", {_KEY: value}))
    story.at(1).partition(leader=1, isr=(1,), epoch=3)
    story.at(2).partition(leader=-1, isr=isr, epoch=4, offline=offline)
    story.at(5).partition(leader=1, isr=(1,), epoch=5)
    return story


def test_a_partition_is_not_left_to_itself_where_an_unclean_election_is_allowed() -> None:
    assert _texts(_left_alone()) == [
        "nobody leads orders-0 for 1.5 s since 2.000000 s, and [2] of [1, 2] are online and may"
    ]
    assert _texts(_left_alone(value="false")) == []
    assert _texts(_left_alone(offline=(1, 2))) == []


def test_nor_where_a_member_of_the_isr_is_online() -> None:
    assert len(_texts(_left_alone(isr=(1, 2), value="false"))) == 1


def test_a_configuration_that_came_meanwhile_asks_for_no_leader() -> None:
    story = _left_alone(value="false")
    story.samples.topics.append(TopicSample(3_000_000, "orders", {_KEY: "true"}))

    assert _texts(story) == []


def test_a_replica_that_a_reassignment_adds_meanwhile_waits_for_the_next_election() -> None:
    story = _left_alone(offline=(1, 2))
    without = story.samples.partitions[1]
    added = without._replace(at_us=2_500_000, replicas=(3, 1, 2), partition_epoch=5)
    story.samples.partitions.insert(2, added)
    assert _texts(story) == []

    story.samples.partitions[2] = added._replace(offline=(1,))
    assert _texts(story) == [
        "nobody leads orders-0 for 1.5 s since 2.500000 s, and [2] of [3, 1, 2] are online and may"
    ]


def test_a_controller_that_does_not_run_elects_nobody() -> None:
    story = _left_alone()
    story.samples.nodes.append(NodeSample(3_000_000, "controller", is_up=False))
    assert _texts(story) == []

    story = _left_alone()
    story.samples.journal_edits_us.append(1)
    assert _texts(story) == []


def test_a_fault_of_the_network_keeps_no_controller_from_electing() -> None:
    story = _left_alone()
    story.samples.faults.append(FaultSample(2_500_000, 2_600_000, "", what="cut"))
    assert len(_texts(story)) == 1


def test_a_moment_without_a_leader_is_none() -> None:
    story = _left_alone()
    story.at(3).partition(leader=2, isr=(2,), epoch=5, is_recovering=True)
    story.samples.partitions[-2:] = story.samples.partitions[-1:]

    assert _texts(story) == []


@pytest.mark.parametrize(
    ("usable_us", "is_cordoned", "is_right"),
    [(None, False, True), (3_000_000, False, False), (None, True, False)],
)
def test_nobody_leads_anew_on_a_broker_that_is_shutting_down(
    usable_us: int | None, *, is_cordoned: bool, is_right: bool
) -> None:
    """One with every log dir cordoned takes no new replica either, and may lead."""
    story = _left_alone()
    samples = story.samples
    samples.log_dirs.append(LogDirSample(0, 2, "d1", is_online=True, is_cordoned=is_cordoned))
    samples.brokers += [
        BrokerSample(0, 2, is_usable=True),
        BrokerSample(1_900_000, 2, is_usable=False),
    ]
    if usable_us is not None:
        samples.brokers.append(BrokerSample(usable_us, 2, is_usable=True))

    assert (_texts(story) == []) is is_right
