"""``uniform`` among equal subscriptions: shares differ by one, and nobody moves without need."""

from __future__ import annotations

from hypothesis import given

from broker.core.groups.assignors.assignment import MemberSubscription, SubscriptionType
from broker.core.groups.assignors.uniform_homogeneous import assign
from tests.broker.core.groups.assignors.lab import (
    assert_assigned_as_by_kafka,
    groups,
    having,
    member,
    moved_count,
    partitions_of,
    topic,
)

Group = tuple[dict[str, MemberSubscription], dict[bytes, int]]


@given(group=groups(is_homogeneous=True))
def test_shares_differ_by_one_at_most(group: Group) -> None:
    sizes = [len(partitions_of(owned)) for owned in assign(*group).values()]
    assert max(sizes) - min(sizes) <= 1


@given(group=groups(is_homogeneous=True))
def test_nobody_loses_what_is_within_the_smaller_share(group: Group) -> None:
    members, topics = group
    assigned = assign(members, topics)
    smaller = min(len(partitions_of(owned)) for owned in assigned.values())
    too_much = [
        max(0, len(partitions_of(each.current_partitions)) - smaller) for each in members.values()
    ]
    assert moved_count(members, assigned) <= sum(too_much)


@given(group=groups(is_homogeneous=True))
def test_what_was_assigned_is_assigned_again(group: Group) -> None:
    members, topics = group
    assigned = assign(members, topics)
    assert assign(having(members, assigned), topics) == assigned


def test_a_new_member_gets_what_the_others_have_too_much() -> None:
    group = {"a": member(2, has={2: (0, 2)}), "b": member(2, has={2: (1, 3)}), "c": member(2)}
    assert assign(group, {topic(2): 4}) == {
        "a": {topic(2): (0, 2)},
        "b": {topic(2): (1,)},
        "c": {topic(2): (3,)},
    }


def test_what_nobody_is_subscribed_to_any_more_is_given_up() -> None:
    group = {"a": member(3, has={2: (0, 1)})}
    assert assign(group, {topic(2): 2, topic(3): 1}) == {"a": {topic(3): (0,)}}


def test_members_without_topics_are_assigned_nothing() -> None:
    assert assign({"a": member(), "b": member()}, {}) == {"a": {}, "b": {}}


def test_groups_are_assigned_what_apache_kafka_assigns() -> None:
    assert_assigned_as_by_kafka("uniform", SubscriptionType.HOMOGENEOUS, assign)
