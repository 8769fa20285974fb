from __future__ import annotations

import pytest

from protocol.ids import TopicPartition
from simulation.core.checkers.deletions import EVERYTHING, deletions_of
from simulation.core.history import Function, Order
from simulation.core.samples import TopicSample
from tests.simulation.core.checkers.build import SECOND_US, TP, Story


def test_records_go_up_to_the_greatest_offset_asked_for() -> None:
    story = Story()
    for offset in (5, 9, 7):
        story.order(Function.DELETE_RECORDS, Order("orders", 0, offset=offset))

    found = deletions_of(story.evidence)

    assert found.before == {TP: 9}
    assert found.takes(TP, 8, at_us=0)
    assert not found.takes(TP, 9, at_us=0)
    assert not found.takes(TopicPartition("orders", 1), 0, at_us=0)


def test_deleting_to_the_high_watermark_may_take_everything() -> None:
    story = Story()
    story.order(Function.DELETE_RECORDS, Order("orders", 0, offset=-1))

    assert deletions_of(story.evidence).before == {TP: EVERYTHING}


def test_orders_that_were_refused_took_nothing() -> None:
    story = Story()
    for function in (Function.DELETE_RECORDS, Function.DELETE_TOPIC):
        story.history.begin("admin", function, Order("orders", 0, offset=5)).fail("NOT_CONTROLLER")

    found = deletions_of(story.evidence)

    assert (found.before, found.topics) == ({}, {})


def test_a_topic_is_served_until_it_is_gone() -> None:
    """A journal from before the order makes it anew, empty and by the same id (seed 1065562)."""
    story = Story().at(2)
    story.order(Function.DELETE_TOPIC, Order("orders"))
    story.at(4).partition(is_gone=True)

    found = deletions_of(story.evidence)

    assert found.took_topic("orders", 3 * SECOND_US)
    assert not found.took_topic("orders", 5 * SECOND_US)


def test_a_topic_takes_what_was_there_when_it_went() -> None:
    story = Story().at(2)
    story.order(Function.DELETE_TOPIC, Order("orders"))

    found = deletions_of(story.evidence)

    assert found.took_topic("orders", SECOND_US)
    assert not found.took_topic("orders", 3 * SECOND_US)
    assert not found.took_topic("others", 0)


def test_a_topic_takes_what_came_after_its_order_until_another_one_has_its_name() -> None:
    story = Story().at(1)
    story.partition(topic_id=b"old")
    story.at(2).order(Function.DELETE_TOPIC, Order("orders"))
    story.at(4).partition(topic_id=b"new")

    found = deletions_of(story.evidence)

    assert found.took_topic("orders", 3 * SECOND_US)
    assert not found.took_topic("orders", 5 * SECOND_US)


@pytest.mark.parametrize(
    ("configs", "is_compacted", "is_retained"),
    [
        ({}, False, False),
        ({"cleanup.policy": "delete"}, False, False),
        ({"cleanup.policy": "compact,delete"}, True, False),
        ({"retention.ms": "1000"}, False, True),
    ],
)
def test_configurations_at_any_time_count(
    configs: dict[str, str], is_compacted: bool, is_retained: bool
) -> None:
    story = Story()
    story.samples.topics += [TopicSample(0, "orders", configs), TopicSample(1, "orders", {})]

    found = deletions_of(story.evidence)

    assert ("orders" in found.compacted, "orders" in found.retained) == (is_compacted, is_retained)
