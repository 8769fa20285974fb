"""What members of the classic protocol are promised for each request of theirs.

Source: GroupMetadataManager.java (classicGroupJoin, classicGroupSync, classicGroupHeartbeat,
classicGroupLeave), ClassicGroup.java (validateOffsetCommit); KIP-345, KIP-394, KIP-559.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from typing import Any

from broker.core.coordination import Decided, Record, Waiter
from broker.core.groups.classic_group import ClassicGroup, GroupState
from broker.core.groups.classic_groups import ClassicGroups
from broker.core.groups.membership import Committer, ExpiryRule
from broker.core.groups.rebalances import TimerKey, TimerKind
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.groups import HeartbeatRequest, LeaveGroupRequest, SyncGroupRequest
from simulation.contracts.contract import Broken, of_method
from simulation.contracts.coordinators.classic_group import refusal

_PREPARING, _COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE


def due_ms(groups: ClassicGroups, kind: TimerKind, group_id: str, who: str = "") -> int | None:
    """Return when a timer of a group ends; None where there is none."""
    return groups._timers.due_ms(TimerKey(kind, group_id, who))  # noqa: SLF001 -- nothing public says it


def answer_to(decided: Decided, waiter: Waiter) -> Any:
    """Return what who asked is told last; None where it waits."""
    told = [each.response for each in decided.answers if each.waiter == waiter]
    return told[-1] if told else None


def not_whole(groups: ClassicGroups, group_id: str) -> Broken:
    """Say how a group is as it must never be between two requests."""
    group = groups.get(group_id)
    if group is None:
        return None
    is_preparing = group.state is _PREPARING
    missing = {*group.members, *group.pending} - set(group.join_waiters)
    if is_preparing and not missing and group.previous_state is not GroupState.EMPTY:
        return f"{group_id}: nobody is missing, and all wait"
    waiting = {*group.join_waiters, *group.sync_waiters}
    if not waiting <= set(group.members):
        return f"{group_id}: of {sorted(waiting)} some are no members"
    if (group.join_waiters and not is_preparing) or (
        group.sync_waiters and group.state is not _COMPLETING
    ):
        return f"{group_id}: {sorted(waiting)} wait in vain, it is {group.state}"
    if bool(group.members) is (group.state is GroupState.EMPTY) and not is_preparing:
        return f"{group_id}: {group.state} with {list(group.members)}"
    return _not_timed(groups, group, missing if is_preparing else {*group.members, *group.pending})


def _not_timed(groups: ClassicGroups, group: ClassicGroup, silent: Collection[str]) -> Broken:
    group_id = group.group_id
    is_joining = due_ms(groups, TimerKind.JOIN, group_id) is not None
    if is_joining is not (group.state is _PREPARING):
        return f"{group_id}: {group.state}, and a join phase ends: {is_joining}"
    is_syncing = due_ms(groups, TimerKind.SYNC, group_id) is not None
    if group.unsynced and not is_syncing:
        return f"{group_id}: nobody waits for {list(group.unsynced)}"
    forever = [
        who
        for who in silent
        if who not in group.sync_waiters
        and due_ms(groups, TimerKind.SESSION, group_id, who) is None
    ]
    return f"{group_id}: {forever} may be silent for ever" if forever else None


# Heartbeats.


@of_method(ClassicGroups, "heartbeat")
def heartbeat(
    groups: ClassicGroups, waiter: Waiter, request: HeartbeatRequest, now_ms: int, wall_ms: int
) -> Generator[None, Decided, Broken]:
    """A member of this generation is alive by its heartbeat, and hears of a rebalance by it."""
    group = groups.get(request.group_id)
    wanted = ErrorCode.NONE
    if not request.group_id:
        wanted = ErrorCode.INVALID_GROUP_ID
    elif group is None:
        wanted = ErrorCode.UNKNOWN_MEMBER_ID
    else:
        wanted = refusal(group, request.member_id, request.group_instance_id)
        if wanted is ErrorCode.NONE and request.generation_id != group.generation:
            wanted = ErrorCode.ILLEGAL_GENERATION
    is_alive = group is not None and wanted is ErrorCode.NONE
    if group is not None and is_alive and group.state is _PREPARING:
        wanted = ErrorCode.REBALANCE_IN_PROGRESS
    decided = yield
    told = answer_to(decided, waiter)
    if told is None or told.error_code != wanted or decided.records:
        return f"{decided.answers}, not {wanted.name}"
    if group is None or not is_alive:
        return None
    due = due_ms(groups, TimerKind.SESSION, group.group_id, request.member_id)
    session_ms = group.members[request.member_id].session_timeout_ms
    return None if due == now_ms + session_ms else f"it has time until {due}"


# Shares.


def _sync_refusal(group: ClassicGroup | None, request: SyncGroupRequest, version: int) -> ErrorCode:
    said = (request.protocol_type, request.protocol_name)
    if version > 4 and not all(each is not None for each in said):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    if group is None or not group.members:
        return ErrorCode.UNKNOWN_MEMBER_ID
    code = refusal(group, request.member_id, request.group_instance_id)
    if code is ErrorCode.NONE and request.generation_id != group.generation:
        code = ErrorCode.ILLEGAL_GENERATION
    if code is not ErrorCode.NONE:
        return code
    known = (group.protocol_type, group.protocol_name)
    if any(a is not None and b is not None and a != b for a, b in zip(said, known, strict=True)):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    is_late = group.state is _PREPARING
    return ErrorCode.REBALANCE_IN_PROGRESS if is_late else ErrorCode.NONE


@of_method(ClassicGroups, "sync")
def sync(
    groups: ClassicGroups,
    waiter: Waiter,
    request: SyncGroupRequest,
    version: int,
    *_: int,
) -> Generator[None, Decided, Broken]:
    """A member of this generation gets its share, once the leader said it.

    The leader's word makes a group stable, and nobody else's does. Who asks twice is answered both
    times.
    """
    group, who = groups.get(request.group_id), request.member_id
    earlier = None if group is None else group.sync_waiters.get(who)
    refused = _sync_refusal(group, request, version)
    before = None if group is None else (group.state, group.generation)
    share = b"" if group is None or who not in group.members else group.members[who].assignment
    leads = group is not None and group.leader_id == who
    decided = yield
    told = answer_to(decided, waiter)
    if group is None or refused is not ErrorCode.NONE:
        is_so = told is not None and told.error_code == refused and not decided.records
        is_kept = group is None or before == (group.state, group.generation)
        return None if is_so and is_kept else f"{decided}, not {refused.name}"
    if who in group.unsynced:
        return f"{who} asked for its share, and is to ask still"
    if earlier is not None and answer_to(decided, earlier) is None:
        return f"{who} asked twice, and the first time it is not answered"
    if before == (GroupState.STABLE, group.generation):
        is_so = told is not None and not told.error_code and bytes(told.assignment) == share
        return None if is_so and not decided.records else f"{decided}, its share is {share!r}"
    if leads:
        is_known = group.state is GroupState.STABLE and told is not None
        is_refused = told is not None and bool(told.error_code)
        return not_whole(groups, request.group_id) if is_known or is_refused else f"{decided}"
    is_waiting = told is None and group.sync_waiters.get(who) == waiter
    return None if is_waiting and group.state is _COMPLETING else f"{who} follows: {decided}"


# Leaving.


@of_method(ClassicGroups, "leave")
def leave(
    groups: ClassicGroups, waiter: Waiter, request: LeaveGroupRequest, now_ms: int, wall_ms: int
) -> Generator[None, Decided, Broken]:
    """Who leaves is out at once, each for itself, and the others share anew."""
    group = groups.get(request.group_id)
    there = {} if group is None else dict.fromkeys((*group.members, *group.pending))
    static = {} if group is None else dict(group.instances)
    codes: list[ErrorCode] = []
    for identity in request.members:
        who, instance = identity.member_id, identity.group_instance_id
        who = who or static.get(instance or "", "")
        code = ErrorCode.UNKNOWN_MEMBER_ID
        if who in there and static.get(instance or "", who) == who:
            is_static = instance is None or instance in static
            code = ErrorCode.NONE if is_static or _is_to_come(group, who) else code
        elif instance is not None and instance in static and who not in (group or _NOBODY).pending:
            code = ErrorCode.FENCED_INSTANCE_ID
        if code is ErrorCode.NONE:
            there.pop(who)
            static = {name: each for name, each in static.items() if each != who}
        codes.append(code)
    decided = yield
    told = answer_to(decided, waiter)
    if not request.group_id:
        is_so = told is not None and told.error_code == ErrorCode.INVALID_GROUP_ID
        return None if is_so else f"{decided} without a group id"
    found = [] if told is None else [ErrorCode(each.error_code) for each in told.members]
    if found != codes:
        return f"{found}, not {codes}: {request.members}"
    if group is None:
        return None
    left = [each for each in there if each in group.members or each in group.pending]
    is_more = not {*group.members, *group.pending} <= set(there)
    if is_more or (left != list(there) and group.state is _PREPARING):
        return f"{list(group.members)} are left, not {list(there)}"
    return not_whole(groups, request.group_id)


def _is_to_come(group: ClassicGroup | None, who: str) -> bool:
    return group is not None and who in group.pending


_NOBODY = ClassicGroup("", state=GroupState.EMPTY, state_since_ms=None)


# Time.


@of_method(ClassicGroups, "loaded")
def loaded(groups: ClassicGroups, now_ms: int, wall_ms: int) -> Generator[None, Decided, Broken]:
    """Members of a group that is loaded have their whole sessions before them."""
    yield
    for group in groups.groups:
        for who, member in group.members.items():
            due = due_ms(groups, TimerKind.SESSION, group.group_id, who)
            if due != now_ms + member.session_timeout_ms:
                return f"{who} has time until {due} of {now_ms}"
        if group.members and group.leader_id is None and group.state is GroupState.STABLE:
            return f"{group.group_id} is stable, and nobody leads it"
    return None


@of_method(ClassicGroups, "expire")
def expire(groups: ClassicGroups, now_ms: int, wall_ms: int) -> Generator[None, Decided, Broken]:
    """What is due is done, unless a batch has no room for it, and leaves each group whole."""
    decided = yield
    next_ms = groups.next_due_ms()
    if next_ms is not None and next_ms <= now_ms and not decided.records:
        return f"something is due at {next_ms} still, it is {now_ms}"
    broken = (not_whole(groups, group.group_id) for group in groups.groups)
    return next((each for each in broken if each is not None), None)


# What offsets ask.


def commit_refusal(group: ClassicGroup | None, who: Committer) -> ErrorCode:
    """Return why somebody may not commit; NONE: it may."""
    is_outside = who.generation < 0
    if group is None:
        return ErrorCode.NONE if is_outside else ErrorCode.ILLEGAL_GENERATION
    if is_outside and group.state is GroupState.EMPTY:
        return ErrorCode.NONE
    says_nothing = is_outside and who.member_id == "" and who.instance_id is None
    if says_nothing:
        return ErrorCode.NONE if who.is_transactional else ErrorCode.UNKNOWN_MEMBER_ID
    code = refusal(group, who.member_id, who.instance_id)
    if code is ErrorCode.NONE and who.generation != group.generation:
        code = ErrorCode.ILLEGAL_GENERATION
    if code is ErrorCode.NONE and group.state is _COMPLETING and not who.is_transactional:
        code = ErrorCode.REBALANCE_IN_PROGRESS
    return code


@of_method(ClassicGroups, "validate_commit")
def validate_commit(
    groups: ClassicGroups, group_id: str, committer: Committer, now_ms: int
) -> Generator[None, None, Broken]:
    """Only members of this generation commit, and those outside while nobody is in the group.

    A member that commits is alive.
    """
    group = groups.get(group_id)
    wanted = commit_refusal(group, committer)
    code = ErrorCode.NONE
    try:
        yield
    except KafkaError as refused:
        code = refused.code
    if code is not wanted:
        state = None if group is None else (group.state, group.generation)
        return f"{code.name}, not {wanted.name}: {committer}, {state}"
    member = None if group is None else group.members.get(committer.member_id)
    if code is not ErrorCode.NONE or member is None or committer.is_transactional:
        return None
    due = due_ms(groups, TimerKind.SESSION, group_id, member.member_id)
    return None if due == now_ms + member.session_timeout_ms else f"it has time until {due}"


@of_method(ClassicGroups, "topics_in_use")
def topics_in_use(groups: ClassicGroups, group_id: str) -> Generator[None, Collection[str], Broken]:
    """Of consumers those topics are in use that they read; of others nobody knows."""
    group = groups.get(group_id)
    has_members = group is not None and group.state is not GroupState.EMPTY
    try:
        told = yield
    except KafkaError:
        is_known = group is not None and group.protocol_type == "consumer"
        return f"{group_id} is refused" if not has_members or is_known else None
    if group is None or not has_members:
        return f"{list(told)} are in use by nobody" if told else None
    read = group.subscribed_topics
    is_so = "?" in told if read is None else frozenset(told) == read
    return None if is_so and group.protocol_type == "consumer" else f"{list(told)}, not {read}"


@of_method(ClassicGroups, "expiry")
def expiry(groups: ClassicGroups, group_id: str) -> Generator[None, ExpiryRule, Broken]:
    """Offsets expire from when a group has no members, or of topics that its members do not read.

    Source: KIP-211, KIP-496.
    """
    rule = yield
    group = groups.get(group_id)
    wanted = ExpiryRule(may_expire=False)
    if group is None or group.protocol_type is None:
        wanted = ExpiryRule()
    elif group.state is GroupState.EMPTY:
        wanted = ExpiryRule(unused_since_ms=group.state_since_ms)
    elif group.state is GroupState.STABLE and group.protocol_type == "consumer":
        read = group.subscribed_topics
        wanted = ExpiryRule(kept_topics=read) if read else wanted
    return None if rule == wanted else f"{rule}, not {wanted}"


@of_method(ClassicGroups, "deletion_error")
def deletion_error(groups: ClassicGroups, group_id: str) -> Generator[None, ErrorCode, Broken]:
    """A group in which somebody is cannot be deleted."""
    code = yield
    group = groups.get(group_id)
    is_used = group is not None and group.state is not GroupState.EMPTY
    return None if (code is ErrorCode.NON_EMPTY_GROUP) is is_used else f"{code.name}: {is_used}"


@of_method(ClassicGroups, "offsets_gone")
def offsets_gone(groups: ClassicGroups, group_id: str) -> Generator[None, Sequence[Record], Broken]:
    """A group whose last offset goes goes, too, unless somebody is in it or about to be."""
    group = groups.get(group_id)
    stays = group is not None and (group.state is not GroupState.EMPTY or bool(group.pending))
    yield
    is_there = groups.get(group_id) is not None
    return None if is_there is stays else f"{group_id} is there: {is_there}, stays: {stays}"


@of_method(ClassicGroups, "delete")
def delete(groups: ClassicGroups, group_id: str) -> Generator[None, Sequence[Record], Broken]:
    """Of a group that goes nothing is left: no timer, and no record but its tombstone."""
    group = groups.get(group_id)
    is_stored = group is not None and group.is_stored
    records = yield
    if groups.get(group_id) is not None or len(records) != int(is_stored):
        return f"{group_id} is gone with {records}, it was stored: {is_stored}"
    if any(value is not None for _, value in records) or group is None:
        return f"{records} for {group}" if records else None
    timed = [who for who in group.pending if due_ms(groups, TimerKind.SESSION, group_id, who)]
    return f"{timed} have timers" if timed else None
