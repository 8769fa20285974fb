from __future__ import annotations

import pytest

from simulation.core.checkers.orders import check_orders
from simulation.core.history import Function, Order
from simulation.core.samples import BrokerConfigsSample, SampleSource, TopicSample
from tests.simulation.core.checkers.build import SECOND_US, Story


def _story() -> Story:
    """``orders`` is made at 1 s with one partition on brokers 1 and 2, and kept for 5 ms."""
    story = Story().at(1)
    story.samples.sources = tuple(SampleSource)
    configs = (("retention.ms", "5"),)
    story.order(
        Function.CREATE_TOPIC,
        Order("orders", partitions=1, assignment=((1, 2),), configs=configs),
    )
    _made(story, b"first")
    return story


def _made(story: Story, topic_id: bytes, replicas: tuple[int, ...] = (1, 2)) -> None:
    story.partition(topic_id=topic_id, replicas=replicas)
    story.samples.topics.append(TopicSample(story.now_us, "orders", {"retention.ms": "5"}))


def _texts(story: Story) -> list[str]:
    return [violation.text for violation in check_orders(story.at(60).evidence)]


def test_what_was_ordered_and_is_so_is_right() -> None:
    assert _texts(_story()) == []


def test_where_nobody_looks_at_decisions_nothing_is_said() -> None:
    story = Story()
    story.order(Function.CREATE_TOPIC, Order("orders", partitions=1))
    assert _texts(story) == []


# Topics.


def test_a_topic_that_was_created_and_is_not_there() -> None:
    story = _story()
    story.at(2).partition(topic_id=b"first", is_deleted=True)

    assert _texts(story) == [
        "there is no topic orders, and its creation was answered at 1.000000 s"
    ]


def test_a_deletion_that_nobody_answered_may_be_why_it_is_not_there() -> None:
    story = _story()
    story.at(2).history.begin("admin", Function.DELETE_TOPIC, Order("orders")).unknown("lost")
    story.partition(topic_id=b"first", is_deleted=True)

    assert _texts(story) == []


def test_so_may_a_hand_that_changed_the_journal() -> None:
    story = _story()
    story.samples.journal_edits_us.append(2 * SECOND_US)
    story.at(2).partition(topic_id=b"first", is_deleted=True)

    assert _texts(story) == []


def test_a_deleted_topic_that_is_still_there() -> None:
    story = _story()
    story.at(2).order(Function.DELETE_TOPIC, Order("orders"))

    assert _texts(story) == [
        "topic orders is there with the id 6669727374, and the deletion of that one was answered "
        "at 2.000000 s"
    ]


def test_a_deleted_topic_that_comes_back() -> None:
    story = _story()
    story.at(2).order(Function.DELETE_TOPIC, Order("orders"))
    story.partition(topic_id=b"first", is_deleted=True)
    assert _texts(story) == []

    story.at(9).partition(topic_id=b"first")
    assert len(_texts(story)) == 1


def test_one_that_another_one_replaced_between_two_looks_is_gone() -> None:
    story = _story()
    story.at(2).order(Function.DELETE_TOPIC, Order("orders"))
    story.at(2.01).partition(topic_id=b"second")

    assert _texts(story) == []


def test_another_topic_of_its_name_is_another_one() -> None:
    story = _story()
    story.at(2).order(Function.DELETE_TOPIC, Order("orders"))
    story.partition(topic_id=b"first", is_deleted=True)
    order = Order("orders", partitions=1, assignment=((3,),), configs=(("retention.ms", "5"),))
    story.at(3).order(Function.CREATE_TOPIC, order)
    _made(story, b"second", replicas=(3,))

    assert _texts(story) == []


# Partitions and replicas.


def test_partitions_that_were_added_and_are_not_there() -> None:
    story = _story()
    story.at(2).order(Function.CREATE_PARTITIONS, Order("orders", partitions=2))

    assert _texts(story) == ["topic orders has 1 partitions, and 2 were ordered"]


def test_a_partition_that_was_added_has_the_replicas_it_was_given() -> None:
    story = _story()
    given = Order("orders", partitions=2, assignment=((2, 1),))
    story.at(2).order(Function.CREATE_PARTITIONS, given)
    story.partition(tp=story.samples.partitions[0].tp._replace(partition=1), replicas=(1, 2))

    assert _texts(story) == ["orders-1 has the replicas [1, 2], and (2, 1) was ordered"]


def test_the_controller_chooses_where_nobody_says() -> None:
    story = Story().at(1)
    story.samples.sources = tuple(SampleSource)
    story.order(Function.CREATE_TOPIC, Order("orders", partitions=1))
    story.partition(topic_id=b"first", replicas=(3, 1))

    assert _texts(story) == []


def test_a_reassignment_that_is_forgotten() -> None:
    story = _story()
    story.at(2).order(Function.REASSIGN, Order("orders", 0, assignment=((3, 1),)))

    assert _texts(story) == ["orders-0 has the replicas [1, 2], and (3, 1) was ordered"]


def test_one_that_is_under_way_is_held_by_its_target() -> None:
    story = _story()
    story.at(2).order(Function.REASSIGN, Order("orders", 0, assignment=((3, 1),)))
    story.partition(topic_id=b"first", replicas=(3, 1, 2))
    last = story.samples.partitions[-1]
    story.samples.partitions[-1] = last._replace(target=(3, 1))

    assert _texts(story) == []


def test_one_that_was_cancelled_or_came_too_late_to_be_may_have_ended_either_way() -> None:
    story = _story()
    story.at(2).order(Function.REASSIGN, Order("orders", 0, assignment=((3, 1),)))
    story.at(3).order(Function.REASSIGN, Order("orders", 0, detail="cancel"))
    assert _texts(story) == []

    story.at(4).partition(topic_id=b"first", replicas=(3,))
    assert _texts(story) == ["orders-0 has the replicas [3], and (1, 2) or (3, 1) was ordered"]


def test_a_cancelled_one_leaves_the_old_replicas_in_whichever_order() -> None:
    story = _story()
    story.at(2).order(Function.REASSIGN, Order("orders", 0, assignment=((3, 2),)))
    story.at(3).order(Function.REASSIGN, Order("orders", 0, detail="cancel"))
    story.at(4).partition(topic_id=b"first", replicas=(2, 1))

    assert _texts(story) == []


@pytest.mark.parametrize("is_unsure", [False, True])
def test_a_cancellation_that_may_come_late_cancels_what_was_ordered_since(
    *, is_unsure: bool
) -> None:
    """Seed 971022: it lay at a broker that paused."""
    story = _story()
    cancellation = Order("orders", 0, detail="cancel")
    asked = story.at(2).history.begin("admin", Function.REASSIGN, cancellation)
    if is_unsure:
        asked.unknown("timed out")
    else:
        asked.ok(cancellation)
    story.at(3).order(Function.REASSIGN, Order("orders", 0, assignment=((3, 2),)))
    story.at(4).partition(topic_id=b"first", replicas=(2, 1))
    story.at(5)

    assert (_texts(story) == []) is is_unsure


def test_a_topic_that_a_client_made_anew_is_as_nobody_ordered() -> None:
    story = _story()
    story.at(2).order(Function.DELETE_TOPIC, Order("orders"))
    story.partition(topic_id=b"first", is_deleted=True)
    story.at(3).partition(topic_id=b"second", replicas=(2,))
    _set(story)

    assert _texts(story) == []


# Configurations.


def _alter(story: Story, value: str | None, *, is_whole: bool = False, name: str = "x") -> None:
    configs = ((name, value),)
    story.order(Function.ALTER_CONFIGS, Order("orders", configs=configs, is_whole=is_whole))


def _set(story: Story, **configs: str) -> None:
    story.samples.topics.append(TopicSample(story.now_us, "orders", configs))


def test_a_configuration_that_was_set_and_is_not() -> None:
    story = _story()
    _alter(story.at(2), "7", name="retention.ms")

    assert _texts(story) == ["topic orders has retention.ms 5, and 7 was ordered"]


def test_one_that_was_taken_off_and_is_set() -> None:
    story = _story()
    _alter(story.at(2), None, name="retention.ms")

    assert _texts(story) == ["topic orders has retention.ms 5, and None was ordered"]


def test_one_that_nobody_set() -> None:
    story = _story()
    story.samples.topics.append(TopicSample(9, "orders", {"retention.ms": "5", "x": "1"}))

    assert _texts(story) == ["topic orders has x 1, and None was ordered"]


def test_one_that_was_left_out_where_all_were_replaced() -> None:
    story = _story()
    _alter(story.at(2), "1", is_whole=True)
    _set(story, x="1")
    assert _texts(story) == []

    story.samples.topics.append(TopicSample(9, "orders", {"retention.ms": "5", "x": "1"}))
    assert _texts(story) == ["topic orders has retention.ms 5, and None was ordered"]


def test_configurations_of_one_broker_and_of_all() -> None:
    story = _story()
    story.order(Function.ALTER_CONFIGS, Order(broker=2, configs=(("x", "1"),)))
    story.order(Function.ALTER_CONFIGS, Order(configs=(("x", "2"),)))
    assert _texts(story) == [
        "broker 2 has x None, and 1 was ordered",
        "every broker has x None, and 2 was ordered",
    ]

    story.samples.broker_configs += [
        BrokerConfigsSample(1, "2", {"x": "1"}),
        BrokerConfigsSample(1, "", {"x": "2"}),
    ]
    assert _texts(story) == []


def test_throttles_are_taken_off_by_who_waits_for_the_end_of_what_they_slow() -> None:
    for name, slowed in (
        ("leader.replication.throttled.rate", Function.REASSIGN),
        ("replica.alter.log.dirs.io.max.bytes.per.second", Function.MOVE),
    ):
        story = _story()
        story.order(Function.ALTER_CONFIGS, Order(broker=2, configs=((name, "1000"),)))
        assert _texts(story) == [f"broker 2 has {name} None, and 1000 was ordered"]

        story.order(slowed, Order("nothing", 0))
        assert _texts(story) == []

        story.samples.broker_configs.append(BrokerConfigsSample(9, "2", {name: "7"}))
        assert _texts(story) == [f"broker 2 has {name} 7, and 1000 was ordered"]
