"""What members of the classic protocol are promised in a group of the consumer protocol.

Source: GroupMetadataManager.classicGroupJoinToConsumerGroup, classicGroupSyncToConsumerGroup,
classicGroupHeartbeatToConsumerGroup; KIP-848.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Sequence

from broker.core.groups.classic_group import GroupState
from broker.core.groups.consumer.classic_members import ClassicMembers
from broker.core.groups.consumer.consumer_group import ConsumerGroup
from broker.core.groups.consumer.consumer_member import ConsumerMember, MemberState
from broker.core.groups.consumer.consumer_rebalances import TimerKey, TimerKind
from broker.core.groups.consumer.group_settings import ConsumerGroupSettings
from broker.core.groups.decision import Decision
from broker.core.groups.group_members import GroupMembers
from broker.core.groups.joins import Joining
from broker.core.groups.subscription import assignment_of
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.groups import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from simulation.contracts.contract import Broken, of_method
from simulation.contracts.coordinators.consumer_group import held_places


def _due_ms(
    members: ClassicMembers, group: ConsumerGroup, member_id: str, kind: TimerKind
) -> int | None:
    timers = members._rebalances.timers  # noqa: SLF001 -- nothing public has them
    return timers.due_ms(TimerKey(kind, group.group_id, member_id))


def _without_session(
    members: ClassicMembers, group: ConsumerGroup, member: ConsumerMember, now_ms: int
) -> Broken:
    if member.classic is None:
        return f"{member} speaks the consumer protocol"
    due_ms = _due_ms(members, group, member.member_id, TimerKind.SESSION)
    is_right = due_ms == now_ms + member.classic.session_timeout_ms
    return None if is_right else f"{member} was heard at {now_ms}, and has until {due_ms}"


@of_method(ClassicMembers, "join")
def join(
    members: ClassicMembers,
    group: ConsumerGroup,
    joining: Joining,
    settings: ConsumerGroupSettings,
    decision: Decision,
) -> Generator[None, JoinGroupResponse, Broken]:
    """Who joins follows at once, in its epoch, and has so long to ask for what it has.

    A group of which nobody speaks the consumer protocol any more is a classic one.
    """
    del settings
    told = yield
    if told.error_code != ErrorCode.NONE:
        return None
    groups = members._rebalances.groups  # noqa: SLF001 -- as above
    if groups.get(group.group_id) is not group:
        return None  # It is a classic group again.
    member = group.members.get(told.member_id)
    if member is None or told.generation_id != member.epoch or told.members:
        return f"{told} is told to {member}"
    if _is_to_be_classic(members, group):
        return f"all of {group.group_id} speak the classic protocol: {list(group.members)}"
    broken = _without_session(members, group, member, decision.now_ms)
    due = {kind: _due_ms(members, group, told.member_id, kind) for kind in TimerKind}
    limits = (due[TimerKind.JOIN], due[TimerKind.REBALANCE], due[TimerKind.SYNC])
    wanted = (None, None, decision.now_ms + joining.rebalance_timeout_ms)
    return broken or (None if limits == wanted else f"{member} has limits {limits}, not {wanted}")


def _is_to_be_classic(members: ClassicMembers, group: ConsumerGroup) -> bool:
    config = members._config  # noqa: SLF001 -- as above
    has_room = len(group.members) <= config.group_max_size
    is_allowed = config.group_consumer_migration_policy.lower() in {"bidirectional", "downgrade"}
    own = group.members.values()
    return has_room and is_allowed and all(each.classic is not None for each in own)


@of_method(ClassicMembers, "sync")
def sync(
    members: ClassicMembers,
    group: ConsumerGroup,
    request: SyncGroupRequest,
    version: int,
    decision: Decision,
) -> Generator[None, SyncGroupResponse, Broken]:
    """A member is told what it has, in its epoch alone, and to join again when that is over."""
    del version
    member = group.members.get(request.member_id)
    is_behind = member is not None and member.epoch < group.assignment_epoch
    is_over = is_behind and member is not None and not _is_giving(member)
    try:
        told = yield
    except KafkaError as refused:
        if refused.code is not ErrorCode.REBALANCE_IN_PROGRESS:
            return None
        is_timed = _due_ms(members, group, request.member_id, TimerKind.JOIN) is not None
        return None if is_over and is_timed else f"{member} is to join, by a limit: {is_timed}"
    if member is None or member.epoch != request.generation_id or is_over:
        return f"{request} is answered: {member}, targets are of {group.assignment_epoch}"
    topics = members._rebalances.topics  # noqa: SLF001 -- as above
    has = {(topics.name(topic_id), index) for topic_id, index in held_places(member.assigned)}
    rows = assignment_of(told.assignment).assigned_partitions
    said = {(row.topic, index) for row in rows for index in row.partitions}
    if said != {each for each in has if each[0] is not None}:
        return f"{said} is told to {member}"
    if _due_ms(members, group, member.member_id, TimerKind.SYNC) is not None:
        return f"{member} asked for what it has, and is waited for"
    return _without_session(members, group, member, decision.now_ms)


def _is_giving(member: ConsumerMember) -> bool:
    return member.state is MemberState.UNREVOKED_PARTITIONS


@of_method(ClassicMembers, "heartbeat")
def heartbeat(
    members: ClassicMembers, group: ConsumerGroup, request: HeartbeatRequest, decision: Decision
) -> Generator[None, HeartbeatResponse, Broken]:
    """A member is told to join when it has something to give back or to get, by a limit."""
    try:
        told = yield
    except KafkaError:
        return None
    member = group.members.get(request.member_id)
    if member is None or member.epoch != request.generation_id:
        return f"{request} is answered: {member}"
    joins = told.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    if joins is not _is_to_join(group, member):
        return f"{member} is told to join: {joins}, targets are of {group.assignment_epoch}"
    if joins and _due_ms(members, group, member.member_id, TimerKind.JOIN) is None:
        return f"{member} is to join, and has all time"
    return _without_session(members, group, member, decision.now_ms)


def _is_to_join(group: ConsumerGroup, member: ConsumerMember) -> bool:
    if member.epoch < group.assignment_epoch or _is_giving(member):
        return True
    target = held_places(group.targets.get(member.member_id, {}))
    missing = target - held_places(member.assigned)
    is_waiting = member.state is MemberState.UNRELEASED_PARTITIONS
    return is_waiting and not any(group.is_owned(*each) for each in missing)


@of_method(ClassicMembers, "leave")
def leave(
    members: ClassicMembers, group: ConsumerGroup, request: LeaveGroupRequest, decision: Decision
) -> Generator[None, LeaveGroupResponse, Broken]:
    """Who is told to have left is no member, and everybody else is one still."""
    del decision
    before = dict(group.members)
    told = yield
    groups = members._rebalances.groups  # noqa: SLF001 -- as above
    left = {row.member_id for row in told.members if row.error_code == ErrorCode.NONE}
    instances = {
        row.group_instance_id for row in told.members if row.error_code == ErrorCode.NONE
    } - {None}
    if len(told.members) != len(request.members) or groups.get(group.group_id) is not group:
        return f"{told} for {request}" if len(told.members) != len(request.members) else None
    rest = [
        member_id
        for member_id, member in before.items()
        if member_id not in left and member.instance_id not in instances
    ]
    return None if list(group.members) == rest else f"{list(group.members)}, not {rest}"


@of_method(GroupMembers, "_downgrade")
def downgrade(
    groups: GroupMembers, group: ConsumerGroup, leaving: Sequence[str], decision: Decision
) -> Generator[None, bool, Broken]:
    """A group that becomes a classic one has its members join again, unless each has its share.

    Else somebody would be told that it has what another member has still.
    """
    del decision
    unsettled = [
        each.member_id
        for each in group.members.values()
        if each.member_id in leaving
        or each.revoking
        or held_places(each.assigned) != held_places(group.targets.get(each.member_id, {}))
    ]
    is_classic = yield
    after = groups.classic.get(group.group_id)
    if not is_classic:
        return None
    if after is None or groups.consumer.get(group.group_id) is not None:
        return f"{group.group_id} is not one classic group: {after}"
    is_right = not unsettled or not after.is_in(GroupState.STABLE)
    return None if is_right else f"{after.group_id} is stable, and was not: {unsettled}"
