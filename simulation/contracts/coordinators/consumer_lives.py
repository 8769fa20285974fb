"""What groups of the consumer protocol promise when they are loaded, change sides, and are asked.

Source: GroupMetadataManager (onLoaded, convertToConsumerGroup, convertToClassicGroup);
ConsumerGroup.validateOffsetCommit, validateOffsetFetch; KIP-848, KIP-1251.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Container, Generator, Iterable, Mapping, Sequence
from typing import Final

from broker.core.groups.classic_group import ClassicGroup, GroupState
from broker.core.groups.classic_groups import ClassicGroups
from broker.core.groups.consumer import committing, conversion
from broker.core.groups.consumer.consumer_group import ConsumerGroup
from broker.core.groups.consumer.consumer_groups import ConsumerGroups
from broker.core.groups.consumer.consumer_member import ConsumerMember, MemberState
from broker.core.groups.consumer.consumer_rebalances import TimerKey, TimerKind
from broker.core.groups.consumer.group_log import Change
from broker.core.groups.consumer.known_topics import KnownTopics
from broker.core.groups.decision import Decision
from broker.core.groups.membership import Committer, ExpiryRule
from broker.core.groups.rebalances import TimerKey as ClassicTimerKey
from broker.core.groups.rebalances import TimerKind as ClassicTimerKind
from broker.core.groups.subscription import assignment_of
from protocol.errors import ErrorCode, Malformed
from protocol.ids import TopicPartition
from protocol.messages import consumer_group_records as messages
from protocol.messages.group_records import GroupMetadataValue
from protocol.stored_records import decode_versioned
from simulation.contracts.contract import Broken, of_function, of_method
from simulation.contracts.coordinators.consumer_group import held_places, names_read


def _untimed(groups: ConsumerGroups, group: ConsumerGroup, now_ms: int) -> Broken:
    timers = groups.rebalances.timers
    for member_id, member in group.members.items():
        timeout_ms = groups._settings_of(group.group_id).session_timeout_ms  # noqa: SLF001 -- nothing public says it
        if member.classic is not None:
            timeout_ms = member.classic.session_timeout_ms
        session_ms = timers.due_ms(TimerKey(TimerKind.SESSION, group.group_id, member_id))
        if session_ms != now_ms + timeout_ms:
            return f"{member} has until {session_ms}, not {now_ms} and {timeout_ms}"
        limit_ms = timers.due_ms(TimerKey(TimerKind.REBALANCE, group.group_id, member_id))
        is_giving = member.state is MemberState.UNREVOKED_PARTITIONS
        if limit_ms != (now_ms + member.rebalance_timeout_ms if is_giving else None):
            return f"{member} is to give back until {limit_ms}, at {now_ms}"
    return None


@of_method(ConsumerGroups, "loaded")
def loaded(groups: ConsumerGroups, now_ms: int) -> Generator[None, None, Broken]:
    """Every member that is loaded has a session, and a limit where it is to give something back."""
    yield
    found = (_untimed(groups, group, now_ms) for group in groups.groups)
    return next((broken for broken in found if broken is not None), None)


@of_method(ConsumerGroups, "write_upgraded")
def write_upgraded(
    groups: ConsumerGroups, group_id: str, changes: Sequence[Change], decision: Decision
) -> Generator[None, None, Broken]:
    """Every member of a group that was a classic one has a session."""
    del changes
    yield
    group = groups.get(group_id)
    return f"no {group_id}" if group is None else _untimed(groups, group, decision.now_ms)


@of_method(ConsumerGroups, "take_due")
def take_due(
    groups: ConsumerGroups, now_ms: int
) -> Generator[None, tuple[ConsumerGroup, str] | None, Broken]:
    """Who was silent for a session is out, and who kept too long what it was to give back."""
    timers = groups.rebalances.timers
    due = [
        (group.group_id, member_id)
        for group in groups.groups
        for member_id, member in group.members.items()
        if any(
            (at_ms := timers.due_ms(TimerKey(kind, group.group_id, member_id))) is not None
            and at_ms <= now_ms
            and (kind is not TimerKind.REBALANCE or _is_giving(member))
            for kind in TimerKind
        )
    ]
    found = yield
    told = None if found is None else (found[0].group_id, found[1])
    return None if told in (due or [None]) else f"{told} is out, due are {due}"


def _is_giving(member: ConsumerMember) -> bool:
    return member.state is MemberState.UNREVOKED_PARTITIONS


@of_method(ConsumerGroups, "expiry")
def expiry(groups: ConsumerGroups, group: ConsumerGroup) -> Generator[None, ExpiryRule, Broken]:
    """Offsets of what members read do not expire."""
    del groups
    told = yield
    wanted = names_read(group)
    is_right = told.may_expire and told.unused_since_ms is None and set(told.kept_topics) == wanted
    return None if is_right else f"{told}, read are {wanted}"


# Who may commit and fetch.


@of_function(committing.commit_error)
def commit_error(
    group: ConsumerGroup, committer: Committer, tps: Iterable[TopicPartition], topics: KnownTopics
) -> Generator[None, ErrorCode, Broken]:
    """A member may commit in its epoch, and in one before for what it has had since then.

    Who is outside may while nobody is in the group; in a transaction also who names no member.
    """
    wanted = list(tps)
    told = yield
    if told is ErrorCode.UNSUPPORTED_VERSION:
        return None
    codes = commit_codes(group, committer, wanted, topics)
    if told in codes:
        return None
    return f"{committer} commits {wanted}: {told.name}, is {group.members.get(committer.member_id)}"


_TAKEN: Final = frozenset({ErrorCode.NONE})
_UNKNOWN: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID})
_OLD: Final = frozenset({ErrorCode.ILLEGAL_GENERATION, ErrorCode.STALE_MEMBER_EPOCH})


def commit_codes(
    group: ConsumerGroup, committer: Committer, tps: Iterable[TopicPartition], topics: KnownTopics
) -> Container[ErrorCode]:
    """Return what may be told to who commits, but that it speaks too old a version."""
    member = group.members.get(committer.member_id)
    names_nobody = not committer.member_id and committer.instance_id is None
    is_outside = committer.generation < 0 and not group.members
    is_nobody = committer.is_transactional and names_nobody and committer.generation == -1
    if is_outside or is_nobody:
        return _TAKEN
    if member is None:
        return _UNKNOWN
    may = committer.generation == member.epoch or (
        committer.generation < member.epoch
        and all(_had_in(member, committer.generation, tp, topics) for tp in tps)
    )
    return _TAKEN if may else _OLD


def _had_in(member: ConsumerMember, epoch: int, tp: TopicPartition, topics: KnownTopics) -> bool:
    topic_id = topics.topic_id(tp.topic) or b""
    since = [
        held[topic_id][tp.partition]
        for held in (member.assigned, member.revoking)
        if tp.partition in held.get(topic_id, {})
    ]
    return bool(since) and since[0] <= epoch


@of_function(committing.fetch_error)
def fetch_error(
    group: ConsumerGroup, member_id: str | None, member_epoch: int
) -> Generator[None, ErrorCode, Broken]:
    """A member fetches offsets in its epoch alone, and who is none without saying that it is."""
    told = yield
    if told in fetch_codes(group, member_id, member_epoch):
        return None
    member = group.members.get(member_id or "")
    return f"{member_id} in epoch {member_epoch} fetches: {told.name}, is {member}"


def fetch_codes(
    group: ConsumerGroup, member_id: str | None, member_epoch: int
) -> Container[ErrorCode]:
    """Return what may be told to who fetches."""
    if member_id is None and member_epoch < 0:
        return _TAKEN
    member = group.members.get(member_id or "")
    if member is None:
        return _UNKNOWN
    return _TAKEN if member.epoch == member_epoch else _OLD


# From one protocol to the other.


@of_function(conversion.upgraded)
def upgraded(
    group: ClassicGroup, topics: KnownTopics, *, policy: str, size_max: int
) -> Generator[None, list[Change], Broken]:
    """A classic group goes on in its generation, with its members and what these were assigned."""
    del policy
    changes = yield
    said: dict[str, dict[str, set[tuple[bytes, int]]]] = {"target": {}, "current": {}}
    epochs: set[int] = set()
    for key, value in changes:
        match key:
            case messages.ConsumerGroupMetadataKey():
                epochs.add(value.epoch)
            case messages.ConsumerGroupTargetAssignmentMetadataKey():
                epochs.add(value.assignment_epoch)
            case messages.ConsumerGroupTargetAssignmentMemberKey():
                said["target"][key.member_id] = _named(value.topic_partitions)
            case messages.ConsumerGroupCurrentMemberAssignmentKey():
                epochs.add(value.member_epoch)
                said["current"][key.member_id] = _named(value.assigned_partitions)
            case _:
                pass
    had = {
        member_id: _assigned(member.assignment, topics)
        for member_id, member in group.members.items()
    }
    if epochs != {group.generation} or len(had) > size_max:
        return f"epochs {epochs} follow generation {group.generation} of {len(had)} members"
    return None if said == {"target": had, "current": had} else f"{said}, they had {had}"


def _named(
    rows: Iterable[messages.TopicPartition | messages.TopicPartitions],
) -> set[tuple[bytes, int]]:
    return {(bytes(row.topic_id), index) for row in rows for index in row.partitions}


def _assigned(assignment: bytes, topics: KnownTopics) -> set[tuple[bytes, int]]:
    rows = assignment_of(assignment).assigned_partitions if assignment else ()
    ids = ((topics.topic_id(row.topic), row.partitions) for row in rows)
    return {(topic_id, index) for topic_id, found in ids if topic_id for index in found}


@of_function(conversion.downgraded)
def downgraded(
    group: ConsumerGroup, leaving: Container[str], topics: KnownTopics, wall_ms: int
) -> Generator[None, ClassicGroup, Broken]:
    """A group goes on in its epoch as a stable classic one, and its members have their targets."""
    del wall_ms
    classic = yield
    rest = [member_id for member_id in group.members if member_id not in leaving]
    if classic.generation != group.epoch or list(classic.members) != rest:
        return f"generation {classic.generation} of {list(classic.members)}, not {rest}"
    if not classic.is_in(GroupState.STABLE) or classic.leader_id not in rest:
        return f"{classic.state} under {classic.leader_id}: {rest}"
    for member_id, member in classic.members.items():
        target = held_places(group.targets.get(member_id, {}))
        wanted = {each for each in target if topics.name(each[0]) is not None}
        try:
            has = _assigned(member.assignment, topics)
        except Malformed as error:
            return f"{member_id} has no assignment: {error}"
        if has != wanted:
            return f"{member_id} has {has}, and shall have {wanted}"
    return None


@of_method(ClassicGroups, "adopt")
def adopt(
    groups: ClassicGroups, group: ClassicGroup, decision: Decision, *, rebalance: bool
) -> Generator[None, None, Broken]:
    """A group that becomes a classic one is stored; where somebody left the rest joins again.

    Whoever loads it has them join, too: then it is stored without a leader.
    """
    first = len(decision._records)  # noqa: SLF001 -- nothing public has them
    yield
    records = decision._records[first:]  # noqa: SLF001 -- as above
    if not records or records[0][1] is None or groups.get(group.group_id) is not group:
        return f"{group.group_id} is not stored: {records}"
    stored = decode_versioned(GroupMetadataValue, records[0][1])[0]
    if (stored.leader is None) is not rebalance or stored.generation != group.generation:
        return f"{stored} is stored, rebalance: {rebalance}"
    if group.is_in(GroupState.PREPARING_REBALANCE) is not rebalance:
        return f"{group.group_id} is {group.state}, rebalance: {rebalance}"
    return _without_sessions(groups, group, decision.now_ms)


def _without_sessions(groups: ClassicGroups, group: ClassicGroup, now_ms: int) -> Broken:
    timers = groups._timers  # noqa: SLF001 -- as above
    wanted: Mapping[str, int] = {
        member_id: now_ms + member.session_timeout_ms for member_id, member in group.members.items()
    }
    known = {
        member_id: timers.due_ms(
            ClassicTimerKey(ClassicTimerKind.SESSION, group.group_id, member_id)
        )
        for member_id in group.members
    }
    return None if known == wanted else f"sessions end at {known}, not {wanted}"
