"""Builds members and topics, and draws groups, for the tests of assignors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

from hypothesis import strategies as st

from broker.core.groups.assignors.assignment import (
    AssignedPartitions,
    MemberSubscription,
    SubscriptionType,
)
from protocol.ids import uuid_from_text, uuid_text
from tests.golden.vectors import load_vectors


def topic(number: int) -> bytes:
    return number.to_bytes(16)


def member(
    *topics: int, instance_id: str | None = None, has: Mapping[int, Collection[int]] | None = None
) -> MemberSubscription:
    current = {topic(number): tuple(partitions) for number, partitions in (has or {}).items()}
    return MemberSubscription(
        frozenset(map(topic, topics)), instance_id=instance_id, current_partitions=current
    )


def members_of(case: Mapping[str, Any]) -> dict[str, MemberSubscription]:
    """Return the members of a golden case."""
    return {
        member_id: MemberSubscription(
            frozenset(map(uuid_from_text, told["topics"])),
            instance_id=told["instance"],
            current_partitions={
                uuid_from_text(topic_id): tuple(partitions)
                for topic_id, partitions in told["current"].items()
            },
        )
        for member_id, told in case["members"].items()
    }


Assigns: TypeAlias = Callable[
    [Mapping[str, MemberSubscription], Mapping[bytes, int]], Mapping[str, AssignedPartitions]
]


def assert_assigned_as_by_kafka(
    name: str, subscriptions: SubscriptionType, assign: Assigns
) -> None:
    """Have all golden groups of one assignor and type assigned."""
    cases = [
        case
        for case in load_vectors("assignments")
        if (case["assignor"], case["type"]) == (name, subscriptions.name)
    ]
    assert len(cases) > 200
    differing: list[int] = []
    for place, case in enumerate(cases):
        topics = {uuid_from_text(text): count for text, count in case["topics"].items()}
        if as_told(assign(members_of(case), topics)) != case["assigned"]:
            differing.append(place)
    assert differing == []


def as_told(assigned: Mapping[str, AssignedPartitions]) -> dict[str, dict[str, list[int]]]:
    return {
        member_id: {uuid_text(topic_id): list(parts) for topic_id, parts in partitions.items()}
        for member_id, partitions in assigned.items()
    }


@st.composite
def groups(
    draw: st.DrawFn, *, is_homogeneous: bool | None = None
) -> tuple[dict[str, MemberSubscription], dict[bytes, int]]:
    """Draw topics and members, some of whom own some partitions of what they are subscribed to."""
    counts = draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    topics = {topic(number): count for number, count in enumerate(counts, start=2)}
    member_ids = [f"m{index}" for index in range(draw(st.integers(1, 6)))]
    subscriptions = st.frozensets(st.sampled_from(list(topics)), min_size=1)
    same = draw(subscriptions) if is_homogeneous else None
    subscribed = {each: same or draw(subscriptions) for each in member_ids}
    current: dict[str, dict[bytes, tuple[int, ...]]] = {each: {} for each in member_ids}
    for topic_id, count in topics.items():
        for partition in range(count):
            owner = draw(st.sampled_from([None, *member_ids]))
            if owner is not None and topic_id in subscribed[owner]:
                had = current[owner].get(topic_id, ())
                current[owner][topic_id] = (*had, partition)
    members = {
        each: MemberSubscription(subscribed[each], current_partitions=current[each])
        for each in member_ids
    }
    return members, topics


def having(
    members: Mapping[str, MemberSubscription], assigned: Mapping[str, AssignedPartitions]
) -> dict[str, MemberSubscription]:
    """Return the members when they have what they were assigned."""
    return {
        member_id: MemberSubscription(each.topics, current_partitions=assigned[member_id])
        for member_id, each in members.items()
    }


def partitions_of(assigned: AssignedPartitions) -> set[tuple[bytes, int]]:
    return {(topic_id, each) for topic_id, numbers in assigned.items() for each in numbers}


def moved_count(
    members: Mapping[str, MemberSubscription], assigned: Mapping[str, AssignedPartitions]
) -> int:
    """Return how many partitions somebody lost who is still subscribed to them."""
    return sum(
        len(partitions_of(each.current_partitions) - partitions_of(assigned[member_id]))
        for member_id, each in members.items()
    )
