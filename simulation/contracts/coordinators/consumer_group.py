"""What a group of the consumer protocol promises to know: what its members say, and its records.

Source: ConsumerGroup, ModernGroup; GroupMetadataManager.replay.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from broker.core.groups.assignors.assignment import SubscriptionType
from broker.core.groups.consumer import group_log
from broker.core.groups.consumer.consumer_group import ConsumerGroup
from broker.core.groups.consumer.consumer_member import ConsumerMember, Held, MemberState
from broker.core.groups.consumer.consumer_rebalances import ConsumerRebalances
from broker.core.groups.consumer.group_log import Change, Groups
from broker.core.groups.decision import Decision
from broker.core.groups.group_members import GroupMembers
from protocol.messages import consumer_group_records as messages
from protocol.messages.group_records import GroupMetadataKey
from protocol.stored_records import RecordType, decode_versioned
from simulation.contracts.contract import Broken, invariant, of_function, of_method

Place: TypeAlias = tuple[bytes, int]
"""A partition by the id of its topic."""


def held_places(held: Mapping[bytes, Iterable[int]]) -> set[Place]:
    """Return the partitions of a member, or of a target."""
    return {(topic_id, index) for topic_id, found in held.items() for index in found}


def places_of(member: ConsumerMember) -> set[Place]:
    """Return what a member has, and what it is giving back."""
    return held_places(member.assigned) | held_places(member.revoking)


def names_read(group: ConsumerGroup) -> set[str]:
    """Return the topics that somebody names, or that a regular expression found."""
    named = {topic for member in group.members.values() for topic in member.topics}
    return named.union(*(each.topics for each in group.regexes.values()))


@invariant(ConsumerGroup, "put", "remove")
def members_add_up(group: ConsumerGroup) -> Broken:
    """Who owns what, and how many ask for what, follows from the members."""
    members = group.members.values()
    owners: dict[Place, set[str]] = {}
    for member in members:
        for place in places_of(member):
            owners.setdefault(place, set()).add(member.member_id)
    known = group._owners  # noqa: SLF001 -- nothing public lists them
    if known.keys() != owners.keys() or any(known[each] not in owners[each] for each in known):
        return f"{group.group_id}: owners {known}, members have {owners}"
    static = {member.instance_id for member in members if member.instance_id is not None}
    if group.instances.keys() != static:
        return f"{group.group_id}: instances {group.instances}, members have {static}"
    for instance_id, member_id in group.instances.items():
        holder = group.members.get(member_id)
        if holder is None or holder.instance_id != instance_id:
            return f"{group.group_id}: {instance_id} is of {member_id}, which is {holder}"
    return _miscounted(group)


def _miscounted(group: ConsumerGroup) -> Broken:
    members = group.members.values()
    counted = {
        "topics": (group._names, Counter(name for each in members for name in each.topics)),  # noqa: SLF001 -- as above
        "assignors": (
            group.assignors,
            Counter(each.assignor for each in members if each.assignor is not None),
        ),
        "regular expressions": (
            group.regex_subscribers,
            Counter(each.regex for each in members if each.regex),
        ),
        "classic protocols": (
            group._classic_supporters,  # noqa: SLF001 -- as above
            Counter(
                row.name
                for each in members
                if each.classic is not None
                for row in each.classic.supported_protocols
            ),
        ),
    }
    wrong = [what for what, (known, found) in counted.items() if known != found]
    return f"{group.group_id}: {wrong} are counted wrongly: {counted}" if wrong else None


@of_method(ConsumerGroup, "preferred_assignor")
def preferred_assignor(group: ConsumerGroup) -> Generator[None, str | None, Broken]:
    """The assignor that most members ask for is taken; none where nobody asks for one.

    Where two are asked for as often it is the uniform one, as in Apache Kafka.
    """
    told = yield
    asked = Counter(each.assignor for each in group.members.values() if each.assignor is not None)
    if told is None or not asked:
        return f"{told} of {asked}" if asked or told is not None else None
    most = [each for each, count in asked.items() if count == max(asked.values())]
    return None if told == max(most) else f"{told} of {asked}"


@of_method(ConsumerGroup, "topics")
def topics(group: ConsumerGroup) -> Generator[None, list[str], Broken]:
    """A group reads what its members name, and what their regular expressions found."""
    told = yield
    wanted = sorted(names_read(group))
    return None if told == wanted else f"{told}, not {wanted}"


@of_method(ConsumerGroup, "subscription_type")
def subscription_type(group: ConsumerGroup) -> Generator[None, SubscriptionType, Broken]:
    """Members are alike when they name the same topics, or have one regular expression alone."""
    told = yield
    said = {(each.topics, each.regex or "") for each in group.members.values()}
    is_alike = len(said) <= 1 and not any(names and regex for names, regex in said)
    is_told = told is SubscriptionType.HOMOGENEOUS
    if is_told and not is_alike:
        return f"{said} are told as alike"
    by_names = is_alike and not any(regex for _, regex in said)
    return f"{said} are told as different" if by_names and not is_told else None


@of_function(group_log.apply)
def apply(groups: Groups, change: Change) -> Generator[None, None, Broken]:
    """What a record says is known then; a tombstone forgets what it is about."""
    group_id, value = change.key.group_id, change.value
    was_there = group_id in groups
    yield
    group = groups.get(group_id)
    if group is None:
        is_end = isinstance(change.key, messages.ConsumerGroupMetadataKey)
        is_right = value is None and (is_end or not was_there)
        return None if is_right else f"{group_id} is not there after {change}"
    return _unknown(group, change)


def _unknown(group: ConsumerGroup, change: Change) -> Broken:
    """Say what of a record a group does not know."""
    value = change.value
    match change.key:
        case messages.ConsumerGroupMetadataKey():
            known: Any = (group.epoch, group.metadata_hash)
            said: Any = value and (value.epoch, value.metadata_hash)
        case messages.ConsumerGroupMemberMetadataKey(member_id=member_id):
            known, said = _described(group.members.get(member_id)), value and _said(value)
        case messages.ConsumerGroupCurrentMemberAssignmentKey(member_id=member_id):
            return _misplaced(group.members.get(member_id), value)
        case messages.ConsumerGroupTargetAssignmentMetadataKey():
            known = value and (group.assignment_epoch, group.assignment_ms)
            said = value and (value.assignment_epoch, value.assignment_timestamp)
        case messages.ConsumerGroupTargetAssignmentMemberKey(member_id=member_id):
            target = group.targets.get(member_id)
            known = None if target is None else held_places(target)
            said = None if value is None else _rows(value.topic_partitions)
        case messages.ConsumerGroupRegularExpressionKey(regular_expression=regex):
            found = group.regexes.get(regex)
            known = found and (found.topics, found.timestamp_ms)
            said = value and (frozenset(value.topics), value.timestamp)
        case _:
            return None
    return None if known == said else f"{said} is said, {known} is known of {change.key}"


@of_method(GroupMembers, "replay")
def replay(
    members: GroupMembers, record: RecordType, key: Any, value: bytes | None
) -> Generator[None, None, Broken]:
    """What the log has of a group and its members is known of them, whatever its protocol."""
    yield
    if isinstance(key, GroupMetadataKey):
        is_there = members.classic.get(key.group) is not None
        return None if is_there is (value is not None) else f"there is {is_there} after {key}"
    if not type(key).__name__.startswith("ConsumerGroup"):
        return None
    group = members.consumer.get(key.group_id)
    if value is None:
        is_end = isinstance(key, messages.ConsumerGroupMetadataKey)
        return f"{key} is there after its end" if is_end and group is not None else None
    if group is None:
        return f"nothing is known after {key}"
    return _unknown(group, Change(key, decode_versioned(record.value, value)[0]))


def _described(member: ConsumerMember | None) -> tuple[object, ...] | None:
    if member is None:
        return None
    said = (member.instance_id, member.rack_id, member.client_id, member.client_host)
    how = (member.regex, member.rebalance_timeout_ms, member.assignor, member.classic)
    return (*said, set(member.topics), *how)


def _said(value: messages.ConsumerGroupMemberMetadataValue) -> tuple[object, ...]:
    said = (value.instance_id, value.rack_id, value.client_id, value.client_host)
    how = (value.rebalance_timeout_ms, value.server_assignor, value.classic_member_metadata)
    return (*said, set(value.subscribed_topic_names), value.subscribed_topic_regex, *how)


def _misplaced(
    member: ConsumerMember | None, value: messages.ConsumerGroupCurrentMemberAssignmentValue | None
) -> Broken:
    if value is None or member is None:
        is_right = value is None and (member is None or not places_of(member))
        return None if is_right else f"{value} is said of {member}"
    said = (value.member_epoch, value.previous_member_epoch)
    if (member.epoch, member.previous_epoch) != said:
        return f"epochs {said} are said of {member}"
    if member.state is not MemberState.UNKNOWN and member.state != value.state:
        return f"state {value.state} is said of {member}"
    given, back = value.assigned_partitions, value.partitions_pending_revocation
    wrong = held_places(member.assigned) != _rows(given)
    if wrong or held_places(member.revoking) != _rows(back):
        return f"{given} and {back} are said of {member}"
    return _wrong_epochs(member.assigned, given) or _wrong_epochs(member.revoking, back)


def _rows(rows: Iterable[Any]) -> set[Place]:
    return {(bytes(row.topic_id), index) for row in rows for index in row.partitions}


def _wrong_epochs(held: Held, rows: Sequence[messages.TopicPartitions]) -> Broken:
    """Compare since when partitions are held, where a record says it."""
    for row in rows:
        epochs = row.assignment_epochs
        if epochs is not None and len(epochs) == len(row.partitions):
            said = dict(zip(row.partitions, epochs, strict=True))
            if dict(held[bytes(row.topic_id)]) != said:
                return f"{said} is said, {held} is known"
    return None


@of_method(ConsumerRebalances, "write")
def write(
    rebalances: ConsumerRebalances, changes: Sequence[Change], decision: Decision
) -> Generator[None, None, Broken]:
    """All that changes is written, in its order, and can be taken back."""
    del rebalances
    records, reverts = decision._records, decision._reverts  # noqa: SLF001 -- nothing public has them
    first, first_revert = len(records), len(reverts)
    yield
    written = [key for key, _ in records[first:]]
    if written != [change.record()[0] for change in changes]:
        return f"{len(written)} records for {[change.key for change in changes]}"
    is_short = len(reverts) - first_revert < len(changes)
    return f"{len(changes)} changes, which cannot all be taken back" if is_short else None
