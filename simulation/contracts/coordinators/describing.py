"""What is told of groups and of transactional ids: what they are at that moment, and of each.

Source: GroupMetadataManager.describeGroups, listGroups; ClassicGroup.describe,
ConsumerGroup.asDescribedGroup; TransactionStateManager.listTransactionStates; KIP-518, KIP-848,
KIP-994, KIP-1099.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Sequence
from typing import Any, Final

from broker.core.coordination import Decided, Waiter
from broker.core.groups import group_catalog
from broker.core.groups.classic_group import ClassicGroup
from broker.core.groups.consumer.consumer_group import ConsumerGroup
from broker.core.groups.consumer.consumer_member import ConsumerMember, MemberState
from broker.core.groups.consumer.known_topics import KnownTopics
from broker.core.groups.group_shard import GroupShard
from broker.core.transaction_state import listing
from broker.core.transaction_state.listing import ListingFilter
from broker.core.transaction_state.metadata import TransactionMetadata
from broker.core.transaction_state.metadata import TransactionState as State
from protocol.errors import ErrorCode
from protocol.messages import consumer_groups, groups
from simulation.contracts.contract import Broken, of_function
from simulation.contracts.coordinators.consumer_group import Place, held_places, places_of

_NOT_THERE: Final = ErrorCode.GROUP_ID_NOT_FOUND
_DEAD_IS_AN_ERROR_SINCE: Final = 6
_NAMES: Final = {
    State.EMPTY: "Empty",
    State.ONGOING: "Ongoing",
    State.PREPARE_COMMIT: "PrepareCommit",
    State.PREPARE_ABORT: "PrepareAbort",
    State.COMPLETE_COMMIT: "CompleteCommit",
    State.COMPLETE_ABORT: "CompleteAbort",
    State.PREPARE_EPOCH_FENCE: "PrepareEpochFence",
}
"""What is not here is shown to nobody."""


def _told(decided: Decided, waiter: Waiter) -> Any:
    """Return the one answer, where nothing else is decided; else None."""
    (answer,) = decided.answers
    is_alone = answer.waiter == waiter and not (decided.records or decided.effects)
    return answer.response if is_alone else None


@of_function(group_catalog.describe)
def describe(
    shard: GroupShard, waiter: Waiter, group_id: str, version: int
) -> Generator[None, Decided, Broken]:
    """A classic group is told as it is; one of offsets alone is empty, and any other is dead."""
    group = shard.members.get(group_id)
    is_simple = group is None and shard.offsets.is_here(group_id)
    decided = yield
    told = _told(decided, waiter)
    if not isinstance(told, groups.DescribedGroup) or told.group_id != group_id:
        return f"{decided} tells of {group_id}"
    if isinstance(group, ClassicGroup):
        return _wrong_classic(group, told)
    if is_simple:
        wanted = (ErrorCode.NONE, "Empty", "", "")
    else:
        code = _NOT_THERE if version >= _DEAD_IS_AN_ERROR_SINCE else ErrorCode.NONE
        wanted = (code, "Dead", "", "")
    head = (told.error_code, told.group_state, told.protocol_type, told.protocol_data)
    return None if head == wanted and not told.members else f"{told}, not {wanted}"


def _wrong_classic(group: ClassicGroup, told: groups.DescribedGroup) -> Broken:
    chosen = group.protocol_name if group.state.value == "Stable" else None
    wanted = (ErrorCode.NONE, group.state.value, group.protocol_type or "", chosen or "")
    if (told.error_code, told.group_state, told.protocol_type, told.protocol_data) != wanted:
        return f"{told}, not {wanted}"
    members = [
        (
            each.member_id,
            each.instance_id,
            each.client_id,
            each.client_host,
            dict(reversed(each.protocols)).get(chosen or "", b""),
            each.assignment,
        )
        for each in group.members.values()
    ]
    rows = [
        (
            row.member_id,
            row.group_instance_id,
            row.client_id,
            row.client_host,
            bytes(row.member_metadata),
            bytes(row.member_assignment),
        )
        for row in told.members
    ]
    return None if rows == members else f"members {members} are told as {rows}"


def _state_of(group: ConsumerGroup) -> str:
    """Return where a group of the consumer protocol is, by its members and its epochs."""
    if not group.members:
        return "Empty"
    if group.epoch != group.assignment_epoch:
        return "Assigning"
    is_settled = all(
        (each.state, each.epoch) == (MemberState.STABLE, group.assignment_epoch)
        for each in group.members.values()
    )
    return "Stable" if is_settled else "Reconciling"


def _rows_of(assignment: consumer_groups.ConsumerGroupDescribeResponseAssignment) -> set[Place]:
    return {
        (bytes(row.topic_id), index)
        for row in assignment.topic_partitions
        for index in row.partitions
    }


@of_function(group_catalog.describe_consumer_group)
def describe_consumer_group(
    shard: GroupShard, waiter: Waiter, group_id: str
) -> Generator[None, Decided, Broken]:
    """A group of the consumer protocol is told with its epochs, and each member as it is.

    With what it has, what it is giving back included, and what it shall have. No other is found.
    """
    group, topics = shard.members.get(group_id), shard.members.consumer.topics
    decided = yield
    told = _told(decided, waiter)
    if not isinstance(told, consumer_groups.DescribedGroup) or told.group_id != group_id:
        return f"{decided} tells of {group_id}"
    if not isinstance(group, ConsumerGroup):
        is_right = told.error_code == _NOT_THERE and not told.members
        return None if is_right else f"{told} of {group}"
    return _wrong_head(group, told) or _wrong_members(group, told, topics)


def _wrong_head(group: ConsumerGroup, told: consumer_groups.DescribedGroup) -> Broken:
    head = (told.error_code, told.group_state, told.group_epoch, told.assignment_epoch)
    wanted = (ErrorCode.NONE, _state_of(group), group.epoch, group.assignment_epoch)
    if head != wanted:
        return f"{head}, not {wanted}"
    asked = {each.assignor for each in group.members.values()} - {None}
    if asked and told.assignor_name not in asked:
        return f"the assignor is {told.assignor_name}, members ask for {asked}"
    return None


def _wrong_members(
    group: ConsumerGroup, told: consumer_groups.DescribedGroup, topics: KnownTopics
) -> Broken:
    if [row.member_id for row in told.members] != list(group.members):
        return f"{told.members} are told of {list(group.members)}"
    found = (
        _wrong_member(group, group.members[row.member_id], row, topics) for row in told.members
    )
    return next((broken for broken in found if broken is not None), None)


def _wrong_member(
    group: ConsumerGroup, member: ConsumerMember, row: consumer_groups.Member, topics: KnownTopics
) -> Broken:
    """Say what is wrong of a member; of partitions of topics that are gone nothing is told."""
    told = (row.member_epoch, row.instance_id, row.rack_id, row.client_id, row.client_host)
    told = (*told, set(row.subscribed_topic_names), row.subscribed_topic_regex or "")
    known = (member.epoch, member.instance_id, member.rack_id, member.client_id)
    known = (*known, member.client_host, set(member.topics), member.regex or "")
    if told != known:
        return f"{known} is told as {told}"
    if row.member_type != int(member.classic is None):
        return f"{member} is told to be of type {row.member_type}"
    has, shall = _rows_of(row.assignment), _rows_of(row.target_assignment)
    target = held_places(group.targets.get(member.member_id, {}))
    there = {each for each in places_of(member) | target if topics.name(each[0]) is not None}
    if (has, shall) != (places_of(member) & there, target & there):
        return f"{member} for {target} is told to have {has}, to get {shall}"
    return None


@of_function(group_catalog.list_groups)
def list_groups(
    shard: GroupShard, states: Sequence[str], types: Sequence[str]
) -> Generator[None, list[groups.ListedGroup], Broken]:
    """Each group is listed once, as it is, unless other states or types are asked for."""
    listed = yield
    by_id = {row.group_id: row for row in listed}
    if len(by_id) < len(listed):
        return f"some are listed twice: {listed}"
    alone = [each for each in shard.offsets.group_ids() if shard.members.get(each) is None]
    wanted: dict[str, tuple[str, str, str]] = dict.fromkeys(alone, ("", "Empty", "classic"))
    for group in shard.members.classic.groups:
        wanted[group.group_id] = (group.protocol_type or "", group.state.value, "classic")
    for other in shard.members.consumer.groups:
        wanted[other.group_id] = ("consumer", _state_of(other), "consumer")
    wanted = {
        group_id: row
        for group_id, row in wanted.items()
        if _is_asked_for(row[1], states) and _is_asked_for(row[2], types)
    }
    found = {
        group_id: (row.protocol_type, row.group_state, row.group_type)
        for group_id, row in by_id.items()
    }
    return None if found == wanted else f"{found} of {wanted}, asked for {states} and {types}"


def _is_asked_for(word: str, wanted: Sequence[str]) -> bool:
    return not wanted or word.casefold() in {each.casefold() for each in wanted}


@of_function(listing.listed)
def listed_transactions(
    known: Iterable[TransactionMetadata], wanted: ListingFilter, wall_ms: int
) -> Generator[None, list[TransactionMetadata], Broken]:
    """Each transactional id is listed once that has all that is asked for, and no other."""
    known = list(known)
    listed = yield
    right = [each for each in known if each.state in _NAMES and _passes(each, wanted, wall_ms)]
    return None if listed == right else f"{listed}, not {right}, for {wanted} at {wall_ms}"


def _passes(one: TransactionMetadata, wanted: ListingFilter, wall_ms: int) -> bool:
    begun_ms = -1 if one.started_ms < 0 else one.started_ms
    asked = (
        not wanted.state_names or _NAMES[one.state] in wanted.state_names,
        not wanted.producer_ids or one.producer_id in wanted.producer_ids,
        wanted.duration_ms < 0 or begun_ms + wanted.duration_ms < wall_ms,
        not wanted.pattern or re.fullmatch(wanted.pattern, one.transactional_id),
    )
    return all(asked)
