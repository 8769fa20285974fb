"""The ``range`` assignor: of each topic every subscriber gets the next range of partitions.

Members that are subscribed to the same topics with equally many partitions get the same numbers
of each (co-partitioning). What members have now is not looked at.

Source: RangeAssignor.java.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from broker.core.groups.assignors.assignment import (
    AssignedPartitions,
    MemberSubscription,
    SubscriptionType,
    check_topics,
    topic_order,
)

NAME: Final = "range"


def assign(
    members: Mapping[str, MemberSubscription],
    topics: Mapping[bytes, int],
    _type_told: SubscriptionType | None = None,
    /,
) -> dict[str, AssignedPartitions]:
    """Give the subscribers of each topic, static members first, ranges whose sizes differ by one.

    Raises:
        PartitionAssignorError: a member is subscribed to a topic that is not in ``topics``.
    """
    check_topics(members, topics)
    member_ids = sorted(members, key=lambda member_id: _order(member_id, members[member_id]))
    assigned: dict[str, dict[bytes, tuple[int, ...]]] = {member_id: {} for member_id in member_ids}
    for topic_id in sorted(topics, key=topic_order):
        subscribers = [each for each in member_ids if topic_id in members[each].topics]
        start = 0
        for index, member_id in enumerate(subscribers):
            quota, extra = divmod(topics[topic_id], len(subscribers))
            end = start + quota + (index < extra)
            if start < end:
                assigned[member_id][topic_id] = tuple(range(start, end))
            start = end
    return dict(assigned)


def _order(member_id: str, member: MemberSubscription) -> tuple[bool, str]:
    """Static members keep their ranges when they come back with another member id."""
    if member.instance_id is not None:
        return (False, member.instance_id)
    return (True, member_id)
