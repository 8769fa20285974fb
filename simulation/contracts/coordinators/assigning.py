"""What assignors of the consumer protocol promise: each partition once, shares alike, few moves.

Source: PartitionAssignor.java, UniformAssignor.java, RangeAssignor.java.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TypeAlias

from broker.core.groups.assignors import (
    range_assignor,
    uniform_assignor,
    uniform_heterogeneous,
    uniform_homogeneous,
)
from broker.core.groups.assignors.assignment import (
    AssignedPartitions,
    MemberSubscription,
    SubscriptionType,
)
from simulation.contracts.contract import Broken, of_function
from simulation.contracts.coordinators.consumer_group import Place, held_places

Members: TypeAlias = Mapping[str, MemberSubscription]
Assigned: TypeAlias = Mapping[str, AssignedPartitions]


def _not_once(members: Members, topics: Mapping[bytes, int], assigned: Assigned) -> Broken:
    if assigned.keys() != members.keys():
        return f"{list(assigned)} are assigned something, members are {list(members)}"
    owners: dict[Place, str] = {}
    for member_id, found in assigned.items():
        for place in held_places(found):
            if place[0] not in members[member_id].topics or place in owners:
                return f"{place} is for {member_id}, and for {owners.get(place)}"
            owners[place] = member_id
        if not all(found.values()):
            return f"{member_id} has a topic without partitions: {found}"
    read = {topic_id for member in members.values() for topic_id in member.topics}
    wanted = {(topic_id, index) for topic_id in read for index in range(topics[topic_id])}
    return None if owners.keys() == wanted else f"{wanted - owners.keys()} are for nobody"


@of_function(uniform_assignor.assign)
def uniform(
    members: Members, topics: Mapping[bytes, int], type_told: SubscriptionType | None = None, /
) -> Generator[None, Assigned, Broken]:
    """Each partition is for one member that reads its topic."""
    del type_told
    assigned = yield
    return _not_once(members, topics, assigned)


@of_function(uniform_homogeneous.assign)
def homogeneous(members: Members, topics: Mapping[bytes, int]) -> Generator[None, Assigned, Broken]:
    """Members that read the same have shares that differ by one, and keep what they may."""
    assigned = yield
    if broken := _not_once(members, topics, assigned):
        return broken
    shares = {member_id: held_places(found) for member_id, found in assigned.items()}
    sizes = [len(share) for share in shares.values()]
    if max(sizes) - min(sizes) > 1:
        return f"shares {sizes}"
    for member_id, member in members.items():
        had = {each for each in held_places(member.current_partitions) if each[0] in member.topics}
        if len(had & shares[member_id]) < min(len(had), *sizes):
            return f"{member_id} had {had}, and has {shares[member_id]}"
    return None


def _owners(assigned: Assigned) -> dict[Place, str]:
    return {
        place: member_id for member_id in assigned for place in held_places(assigned[member_id])
    }


def _unbalanced(members: Members, owners: Mapping[Place, str]) -> Broken:
    """Say which partition is with somebody who has two more than another reader of its topic."""
    sizes = dict.fromkeys(members, 0)
    for member_id in owners.values():
        sizes[member_id] += 1
    for place, owner in owners.items():
        for member_id, member in members.items():
            if place[0] in member.topics and sizes[owner] - sizes[member_id] > 1:
                return f"{place} is with {owner} and not with {member_id}, of {sizes}"
    return None


@of_function(uniform_heterogeneous.assign)
def heterogeneous(
    members: Members, topics: Mapping[bytes, int]
) -> Generator[None, Assigned, Broken]:
    """No partition is with somebody who has two more than one that could have it.

    Where that is so already nothing moves.
    """
    assigned = yield
    if broken := _not_once(members, topics, assigned):
        return broken
    had = {
        place: member_id
        for place, member_id in _owners(
            {member_id: member.current_partitions for member_id, member in members.items()}
        ).items()
        if place[0] in members[member_id].topics
    }
    has = _owners(assigned)
    if had.keys() == has.keys() and had != has and _unbalanced(members, had) is None:
        return f"{had} was balanced, and becomes {has}"
    return _unbalanced(members, has)


@of_function(range_assignor.assign)
def ranges(
    members: Members, topics: Mapping[bytes, int], type_told: SubscriptionType | None = None, /
) -> Generator[None, Assigned, Broken]:
    """Of each topic its readers get ranges that differ by one, static members first."""
    del type_told
    assigned = yield
    if broken := _not_once(members, topics, assigned):
        return broken
    for topic_id in topics:
        readers = [each for each in members if topic_id in members[each].topics]
        readers.sort(key=lambda each: (members[each].instance_id is None, _name(members, each)))
        parts = [list(assigned[each].get(topic_id, ())) for each in readers]
        joined = [index for part in parts for index in part]
        sizes = [len(part) for part in parts]
        if joined != sorted(joined) or sizes != sorted(sizes, reverse=True):
            return f"{parts} are for {readers}"
        if sizes and sizes[0] - sizes[-1] > 1:
            return f"shares {sizes} of {topic_id!r}"
    return None


def _name(members: Members, member_id: str) -> str:
    return members[member_id].instance_id or member_id
