from __future__ import annotations

from simulation.core.checkers.ordering import about_topic, ordered_of
from simulation.core.history import Function, Order
from simulation.core.samples import NodeSample
from tests.simulation.core.checkers.build import SECOND_US, Story


def test_orders_that_failed_are_left_out_and_unanswered_ones_are_not_sure() -> None:
    story = Story().at(1)
    for end in ("fail", "unknown"):
        begun = story.history.begin("admin", Function.DELETE_TOPIC, Order("orders"))
        getattr(begun, end)("why")
    story.order(Function.DELETE_TOPIC, Order("orders"))

    assert [each.is_sure for each in ordered_of(story.evidence)] == [False, True]


def test_what_was_begun_before_a_hand_changed_the_journal_is_not_sure() -> None:
    story = Story().at(1)
    story.order(Function.DELETE_TOPIC, Order("orders"))
    story.samples.journal_edits_us.append(2 * SECOND_US)
    story.at(3).order(Function.DELETE_TOPIC, Order("orders"))

    assert [each.is_sure for each in ordered_of(story.evidence)] == [False, True]


def test_what_the_controller_was_ordered_right_before_its_end_is_not_sure() -> None:
    story = Story().at(1)
    story.order(Function.DELETE_TOPIC, Order("orders"))
    story.at(2).order(Function.DELETE_TOPIC, Order("orders"))
    down = NodeSample(2 * SECOND_US + 5, "controller", is_up=False)
    story.samples.nodes.append(down)
    story.at(60)
    assert [each.is_sure for each in ordered_of(story.evidence)] == [True, False]

    story.samples.nodes.append(down._replace(at_us=9 * SECOND_US, is_up=True))
    assert [each.is_sure for each in ordered_of(story.evidence)] == [True, True]


def test_a_broker_is_named_as_configurations_name_it() -> None:
    story = Story()
    story.order(Function.ALTER_CONFIGS, Order(broker=2))
    story.order(Function.ALTER_CONFIGS, Order())

    assert [each.broker_node for each in ordered_of(story.evidence)] == ["2", ""]


def test_what_was_ordered_while_a_topic_was_being_deleted_may_have_come_before_that() -> None:
    story = Story()
    deleting = story.history.begin("admin", Function.DELETE_TOPIC, Order("orders"))
    story.at(1).order(Function.CREATE_PARTITIONS, Order("orders", partitions=3))
    story.at(2)
    deleting.ok(deleting.value)
    story.at(3).order(Function.CREATE_TOPIC, Order("orders", partitions=2))

    about = about_topic(ordered_of(story.evidence), "orders", story.samples)

    assert [(each.function, each.is_sure) for each in about] == [
        (Function.CREATE_PARTITIONS, False),
        (Function.DELETE_TOPIC, False),
        (Function.CREATE_TOPIC, True),
    ]


def test_what_was_ordered_while_a_deletion_waited_for_a_reassignment_is_gone_with_the_topic() -> (
    None
):
    setting = Order("orders", configs=(("retention.bytes", "20000"),))
    for is_reassigned in (True, False):
        story = Story()
        story.at(1).order(Function.DELETE_TOPIC, Order("orders"))
        story.partition(is_deleted=True, is_reassigned=is_reassigned)
        story.at(2).order(Function.ALTER_CONFIGS, setting)
        story.at(3).partition(is_gone=True)
        story.at(4).order(Function.ALTER_CONFIGS, setting)

        _, during, after = about_topic(ordered_of(story.evidence), "orders", story.samples)

        assert (during.is_sure, after.is_sure) == (not is_reassigned, True)


def test_a_creation_that_begins_while_a_deletion_waits_is_of_the_next_topic() -> None:
    story = Story()
    story.at(1).order(Function.DELETE_TOPIC, Order("orders"))
    story.partition(is_deleted=True, is_reassigned=True)
    creating = story.at(2).history.begin("admin", Function.CREATE_TOPIC, Order("orders"))
    story.at(3).partition(is_gone=True)
    story.at(4)
    creating.ok(creating.value)

    about = about_topic(ordered_of(story.evidence), "orders", story.samples)

    assert [(each.function, each.is_sure) for each in about] == [
        (Function.DELETE_TOPIC, False),
        (Function.CREATE_TOPIC, True),
    ]
