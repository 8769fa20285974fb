"""``uniform`` chooses between its two ways by the group's subscriptions."""

from __future__ import annotations

import pytest

from broker.core.groups.assignors import uniform_heterogeneous, uniform_homogeneous
from broker.core.groups.assignors.assignment import PartitionAssignorError, SubscriptionType
from broker.core.groups.assignors.uniform_assignor import NAME, assign
from tests.broker.core.groups.assignors.lab import assert_assigned_as_by_kafka, member, topic

TOPICS = {topic(2): 2, topic(3): 1}
GROUP = {"a": member(2, 3), "b": member(2, 3)}


def test_members_with_the_same_topics_are_assigned_as_homogeneous() -> None:
    assert assign(GROUP, TOPICS) == uniform_homogeneous.assign(GROUP, TOPICS)


def test_the_type_that_is_told_counts_more_than_the_topics_that_exist() -> None:
    found = assign(GROUP, TOPICS, SubscriptionType.HETEROGENEOUS)
    assert found == uniform_heterogeneous.assign(GROUP, TOPICS)
    assert found != assign(GROUP, TOPICS)


def test_a_topic_that_does_not_exist_ends_the_assignment() -> None:
    with pytest.raises(PartitionAssignorError):
        assign({"a": member(4)}, TOPICS)


@pytest.mark.parametrize("subscriptions", SubscriptionType)
def test_groups_are_assigned_what_apache_kafka_assigns(subscriptions: SubscriptionType) -> None:
    assert_assigned_as_by_kafka(
        NAME, subscriptions, lambda members, topics: assign(members, topics, subscriptions)
    )


def test_nobody_is_assigned_nothing() -> None:
    assert assign({}, TOPICS) == {}
