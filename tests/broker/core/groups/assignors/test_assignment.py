"""What assignors are given: the type of a group's subscriptions, topics that do not exist."""

from __future__ import annotations

import pytest

from broker.core.groups.assignors.assignment import (
    PartitionAssignorError,
    SubscriptionType,
    check_topics,
    subscription_type,
    topic_order,
)
from protocol.ids import uuid_text
from tests.broker.core.groups.assignors.lab import member, topic


def test_a_group_is_homogeneous_while_all_members_are_subscribed_to_the_same() -> None:
    assert subscription_type({}) is SubscriptionType.HOMOGENEOUS
    group = {"a": member(2, 3), "b": member(3, 2)}
    assert subscription_type(group) is SubscriptionType.HOMOGENEOUS
    assert subscription_type({**group, "c": member(2)}) is SubscriptionType.HETEROGENEOUS


def test_a_subscription_to_a_topic_that_does_not_exist_is_refused_with_its_member() -> None:
    check_topics({"a": member(2)}, {topic(2): 1})
    with pytest.raises(PartitionAssignorError, match=f"member b .* {uuid_text(topic(3))}"):
        check_topics({"a": member(2), "b": member(3)}, {topic(2): 1})


def test_ids_are_ordered_as_signed_numbers() -> None:
    low, high = b"\xff" * 16, b"\x01" * 16
    assert topic_order(low) < topic_order(high)
