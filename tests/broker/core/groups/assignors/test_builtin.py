"""What holds for every assignor, and that each assigns what Apache Kafka 4.3.1's assigns.

``tests/golden/assignments.jsonl.gz`` has a group a line with what the assignor of that release
made of it.
"""

from __future__ import annotations

import pytest
from hypothesis import given

from broker.core.groups.assignors.assignment import MemberSubscription, SubscriptionType
from broker.core.groups.assignors.builtin import BUILTIN_ASSIGNORS
from tests.broker.core.groups.assignors.lab import (
    assert_assigned_as_by_kafka,
    groups,
    partitions_of,
)


@pytest.mark.parametrize("name", BUILTIN_ASSIGNORS)
@pytest.mark.parametrize("subscriptions", SubscriptionType)
def test_groups_are_assigned_what_apache_kafka_assigns(
    name: str, subscriptions: SubscriptionType
) -> None:
    assign = BUILTIN_ASSIGNORS[name]
    assert_assigned_as_by_kafka(
        name, subscriptions, lambda members, topics: assign(members, topics, subscriptions)
    )


def test_uniform_is_the_first_which_groups_take_where_no_member_names_one() -> None:
    assert list(BUILTIN_ASSIGNORS) == ["uniform", "range"]


@pytest.mark.parametrize("name", BUILTIN_ASSIGNORS)
@given(group=groups())
def test_every_partition_goes_to_one_of_those_who_are_subscribed_to_it(
    name: str, group: tuple[dict[str, MemberSubscription], dict[bytes, int]]
) -> None:
    members, topics = group
    assigned = BUILTIN_ASSIGNORS[name](members, topics)
    given_away = [each for owned in assigned.values() for each in partitions_of(owned)]
    subscribed = frozenset[bytes]().union(*(each.topics for each in members.values()))
    assert sorted(given_away) == [
        (topic_id, partition)
        for topic_id in sorted(subscribed)
        for partition in range(topics[topic_id])
    ]
    assert all(set(assigned[each]) <= members[each].topics for each in members)


@pytest.mark.parametrize("name", BUILTIN_ASSIGNORS)
@given(group=groups())
def test_the_order_of_members_and_topics_decides_nothing(
    name: str, group: tuple[dict[str, MemberSubscription], dict[bytes, int]]
) -> None:
    members, topics = group
    turned = dict(reversed(members.items())), dict(reversed(topics.items()))
    assert BUILTIN_ASSIGNORS[name](members, topics) == BUILTIN_ASSIGNORS[name](*turned)


@pytest.mark.parametrize("name", BUILTIN_ASSIGNORS)
def test_a_group_without_members_is_assigned_nothing(name: str) -> None:
    assert BUILTIN_ASSIGNORS[name]({}, {}) == {}
