"""``uniform`` among different subscriptions: each topic is balanced among its subscribers."""

from __future__ import annotations

from hypothesis import given

from broker.core.groups.assignors.assignment import MemberSubscription, SubscriptionType
from broker.core.groups.assignors.uniform_heterogeneous import assign
from tests.broker.core.groups.assignors.lab import (
    assert_assigned_as_by_kafka,
    groups,
    having,
    member,
    partitions_of,
    topic,
)

Group = tuple[dict[str, MemberSubscription], dict[bytes, int]]


@given(group=groups())
def test_no_move_of_one_partition_makes_shares_more_even(group: Group) -> None:
    members, topics = group
    assigned = assign(members, topics)
    sizes = {each: len(partitions_of(owned)) for each, owned in assigned.items()}
    for giver, owned in assigned.items():
        for topic_id in owned:
            takers = [each for each in members if topic_id in members[each].topics]
            assert all(sizes[giver] - sizes[taker] <= 1 for taker in takers)


@given(group=groups())
def test_what_was_assigned_is_assigned_again(group: Group) -> None:
    members, topics = group
    assigned = assign(members, topics)
    assert assign(having(members, assigned), topics) == assigned


def test_who_is_subscribed_to_more_takes_what_the_others_cannot() -> None:
    group = {"a": member(2), "b": member(2, 3)}
    assert assign(group, {topic(2): 3, topic(3): 3}) == {
        "a": {topic(2): (0, 1, 2)},
        "b": {topic(3): (0, 1, 2)},
    }


def test_a_new_subscriber_takes_from_the_most_loaded() -> None:
    group = {"a": member(2, 3, has={2: (0, 1, 2, 3), 3: (0,)}), "b": member(2)}
    assert assign(group, {topic(2): 4, topic(3): 1}) == {
        "a": {topic(2): (0, 1), topic(3): (0,)},
        "b": {topic(2): (2, 3)},
    }


def test_a_member_loses_what_it_is_not_subscribed_to_any_more() -> None:
    group = {"a": member(3, has={2: (0,)}), "b": member(2)}
    assert assign(group, {topic(2): 1, topic(3): 1}) == {
        "a": {topic(3): (0,)},
        "b": {topic(2): (0,)},
    }


def test_groups_are_assigned_what_apache_kafka_assigns() -> None:
    assert_assigned_as_by_kafka("uniform", SubscriptionType.HETEROGENEOUS, assign)
