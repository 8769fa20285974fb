"""``uniform`` among members that are all subscribed to the same topics: shares differ by one.

Source: UniformHomogeneousAssignmentBuilder.java. Where Kafka takes members, topics and partitions
in the order of its hash maps, they are taken in ascending order here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

from broker.core.groups.assignors.assignment import (
    AssignedPartitions,
    MemberSubscription,
    topic_order,
)
from protocol.ids import TopicIdPartition


@dataclass(slots=True)
class _Share:
    kept: list[TopicIdPartition]
    room: int
    """How many partitions more the member gets."""


def assign(
    members: Mapping[str, MemberSubscription], topics: Mapping[bytes, int]
) -> dict[str, AssignedPartitions]:
    """Keep what is within each member's quota, then fill members in order with what is left."""
    subscribed = next(iter(members.values())).topics
    if not subscribed:
        return {member_id: {} for member_id in sorted(members)}
    owned = {
        partition for member in members.values() for partition in _flat(member.current_partitions)
    }
    everything = [
        (topic_id, partition)
        for topic_id in sorted(subscribed, key=topic_order)
        for partition in range(topics[topic_id])
    ]
    unassigned = [partition for partition in everything if partition not in owned]
    shares, revoked = _shares(members, subscribed, len(everything))
    remaining = iter(unassigned + revoked)
    for share in shares.values():
        share.kept += [
            partition for _, partition in zip(range(share.room), remaining, strict=False)
        ]
    assert next(remaining, None) is None
    return {member_id: _by_topic(share.kept) for member_id, share in shares.items()}


def _shares(
    members: Mapping[str, MemberSubscription], subscribed: Set[bytes], partition_count: int
) -> tuple[dict[str, _Share], list[TopicIdPartition]]:
    """Return what each member keeps and how much more it gets, and what members lose to others."""
    shares: dict[str, _Share] = {}
    revoked: list[TopicIdPartition] = []
    quota, extras_left = divmod(partition_count, len(members))
    for index, member_id in enumerate(sorted(members)):
        current = members[member_id].current_partitions
        valid = [partition for partition in _flat(current) if partition[0] in subscribed]
        allowed = quota + (extras_left > 0)
        kept = valid[:allowed]
        revoked += valid[allowed:]
        takes_extra = extras_left > 0
        # Who has room for the extra partition leaves it to those who have one already, as long
        # as enough members follow who could take it.
        if takes_extra and len(kept) < allowed and len(members) - index > extras_left:
            takes_extra = False
        extras_left -= takes_extra
        shares[member_id] = _Share(kept, quota + takes_extra - len(kept))
    return shares, revoked


def _flat(partitions: AssignedPartitions) -> Iterator[TopicIdPartition]:
    for topic_id in sorted(partitions, key=topic_order):
        for partition in sorted(partitions[topic_id]):
            yield topic_id, partition


def _by_topic(partitions: Iterable[TopicIdPartition]) -> dict[bytes, tuple[int, ...]]:
    found: dict[bytes, list[int]] = {}
    for topic_id, partition in partitions:
        found.setdefault(topic_id, []).append(partition)
    return {topic_id: tuple(sorted(found[topic_id])) for topic_id in sorted(found, key=topic_order)}
