"""``range``: the same numbers of every topic, static members first."""

from __future__ import annotations

import pytest

from broker.core.groups.assignors.assignment import PartitionAssignorError, SubscriptionType
from broker.core.groups.assignors.range_assignor import NAME, assign
from tests.broker.core.groups.assignors.lab import assert_assigned_as_by_kafka, member, topic

TOPICS = {topic(2): 3, topic(3): 3}


def test_members_with_the_same_topics_get_the_same_numbers_of_each() -> None:
    assert assign({"a": member(2, 3), "b": member(2, 3)}, TOPICS) == {
        "a": {topic(2): (0, 1), topic(3): (0, 1)},
        "b": {topic(2): (2,), topic(3): (2,)},
    }


def test_members_beyond_the_partitions_get_none() -> None:
    group = {name: member(2) for name in "abcd"}
    assert assign(group, {topic(2): 3})["d"] == {}


def test_a_static_member_gets_its_range_again_under_another_member_id() -> None:
    before = assign(
        {"a": member(2, instance_id="i1"), "b": member(2, instance_id="i2")}, {topic(2): 3}
    )
    after = assign(
        {"z": member(2, instance_id="i1"), "b": member(2, instance_id="i2")}, {topic(2): 3}
    )
    assert before["a"] == after["z"] == {topic(2): (0, 1)}


def test_static_members_come_before_those_without_an_instance_id() -> None:
    assigned = assign({"a": member(2), "b": member(2, instance_id="i")}, {topic(2): 3})
    assert assigned == {"b": {topic(2): (0, 1)}, "a": {topic(2): (2,)}}


def test_each_topic_is_shared_by_its_own_subscribers() -> None:
    assert assign({"a": member(2), "b": member(2, 3)}, TOPICS) == {
        "a": {topic(2): (0, 1)},
        "b": {topic(2): (2,), topic(3): (0, 1, 2)},
    }


@pytest.mark.parametrize("subscriptions", SubscriptionType)
def test_groups_are_assigned_what_apache_kafka_assigns(subscriptions: SubscriptionType) -> None:
    assert_assigned_as_by_kafka(
        NAME, subscriptions, lambda members, topics: assign(members, topics, subscriptions)
    )


def test_a_topic_that_does_not_exist_ends_the_assignment() -> None:
    with pytest.raises(PartitionAssignorError):
        assign({"a": member(4)}, TOPICS)
