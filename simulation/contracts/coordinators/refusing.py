"""What a coordinator of groups promises those whom a rule refuses: that nobody serves them.

The rules that refuse have contracts of their own; these stand where they are asked, and hold
whether they were asked or not. Source: GroupCoordinatorShard.java, OffsetMetadataManager
(validateOffsetCommit, validateOffsetFetch); KIP-345, KIP-848.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Container, Generator
from typing import Final

from broker.core.coordination import Decided, Waiter
from broker.core.groups.consumer.classic_members import ClassicMembers
from broker.core.groups.consumer.consumer_group import ConsumerGroup
from broker.core.groups.consumer.consumer_heartbeats import Heartbeating
from broker.core.groups.group_members import GroupMembers
from broker.core.groups.group_shard import Commit, GroupShard
from broker.core.groups.joins import Joining
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.groups import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
)
from simulation.contracts.contract import Broken, of_method
from simulation.contracts.coordinators.classic_requests import commit_refusal
from simulation.contracts.coordinators.consumer_heartbeats import refusal
from simulation.contracts.coordinators.consumer_lives import commit_codes, fetch_codes

_NOT_JUDGED: Final = (ErrorCode.INVALID_COMMIT_OFFSET_SIZE, ErrorCode.UNSUPPORTED_VERSION)


def _commit_codes(shard: GroupShard, commit: Commit) -> Container[ErrorCode]:
    members, who = shard.members, commit.committer
    group = members.consumer.get(commit.group_id)
    if group is not None:
        tps = [new.tp for new in commit.offsets]
        return commit_codes(group, who, tps, members.consumer.topics)
    classic = members.classic.get(commit.group_id)
    if classic is None and who.generation >= 0:
        codes = (ErrorCode.ILLEGAL_GENERATION, ErrorCode.GROUP_ID_NOT_FOUND)
        return (*codes, ErrorCode.UNKNOWN_MEMBER_ID)
    return (commit_refusal(classic, who),)


@of_method(GroupShard, "commit")
def commit_is_refused(
    shard: GroupShard, _: Waiter, commit: Commit, *__: int
) -> Generator[None, Decided, Broken]:
    """Offsets are taken of whom the group lets commit, and of nobody else."""
    codes = _commit_codes(shard, commit)
    code = ErrorCode.NONE
    try:
        yield
    except KafkaError as refused:
        code = refused.code
    if code in codes or code in _NOT_JUDGED:
        return None
    group = shard.members.get(commit.group_id)
    return f"{code.name} for {commit.committer}, not {codes}: {group}"


@of_method(GroupShard, "fetch")
def fetch_is_refused(
    shard: GroupShard,
    _: Waiter,
    group_id: str,
    *__: object,
    member_id: str | None = None,
    member_epoch: int = -1,
    **___: object,
) -> Generator[None, Decided, Broken]:
    """Offsets are told to whom the group lets fetch, and to nobody else."""
    group = shard.members.consumer.get(group_id)
    if group is None:
        yield
        return None
    codes = fetch_codes(group, member_id, member_epoch)
    code = ErrorCode.NONE
    try:
        yield
    except KafkaError as refused:
        code = refused.code
    if code in codes:
        return None
    return f"{code.name} for {member_id} in epoch {member_epoch}: {group.members}"


@of_method(GroupMembers, "beat")
def beat_is_refused(
    members: GroupMembers, _: Waiter, heartbeating: Heartbeating, *__: int
) -> Generator[None, Decided, Broken]:
    """Nobody goes on in a group that is none of the consumer protocol, or would not have it."""
    request, wanted = heartbeating.request, ErrorCode.NONE
    group = members.consumer.get(request.group_id)
    size_max = members._config.group_consumer_max_size  # noqa: SLF001 -- nothing public says it
    if group is None and not heartbeating.is_joining:
        wanted = ErrorCode.GROUP_ID_NOT_FOUND
    elif group is not None and not heartbeating.is_leaving:
        wanted = refusal(group, heartbeating, size_max)
    try:
        yield
    except KafkaError:
        return None
    if wanted is ErrorCode.NONE:
        return None
    return f"{request} is served, not refused with {wanted.name}"


_JOINING: Final = (
    ErrorCode.GROUP_MAX_SIZE_REACHED,
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_INSTANCE_ID,
)
"""Why nobody may join a group of the consumer protocol by the other one, whatever it has."""


@of_method(ClassicMembers, "join")
def join_is_refused(
    members: ClassicMembers, group: ConsumerGroup, joining: Joining, *_: object
) -> Generator[None, JoinGroupResponse, Broken]:
    """Who joins is a consumer that shares a protocol with all, finds room, and nobody's name."""
    config = members._config  # noqa: SLF001 -- as above
    wanted = _join_refusal(group, joining.request, config.group_consumer_max_size)
    if config.group_consumer_migration_policy.lower() == "disabled":
        wanted = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    code = ErrorCode.NONE
    try:
        yield
    except KafkaError as refused:
        code = refused.code if refused.code in _JOINING else wanted
    return None if code is wanted else f"{code.name}, not {wanted.name}: {joining.request}, {group}"


def _join_refusal(group: ConsumerGroup, request: JoinGroupRequest, size_max: int) -> ErrorCode:
    if request.member_id not in group.members and len(group.members) >= size_max:
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    shared = {row.name for row in request.protocols}
    for member in group.members.values():
        if member.classic is not None:
            shared &= {row.name for row in member.classic.supported_protocols}
    if request.protocol_type != "consumer" or not shared:
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if request.group_instance_id is None or not request.member_id:
        return ErrorCode.NONE
    holders = [
        member_id
        for member_id, member in group.members.items()
        if member.instance_id == request.group_instance_id
    ]
    if not holders:
        return ErrorCode.UNKNOWN_MEMBER_ID
    is_own = request.member_id in holders
    return ErrorCode.NONE if is_own else ErrorCode.FENCED_INSTANCE_ID


def _is_classic(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
) -> bool:
    member = group.members.get(member_id)
    if member is None or member.classic is None or member.epoch != generation:
        return False
    return instance_id in (None, member.instance_id)


@of_method(GroupMembers, "heartbeat")
def heartbeat_is_refused(
    members: GroupMembers, _: Waiter, request: HeartbeatRequest, *__: int
) -> Generator[None, Decided, Broken]:
    """Who goes on in a group of the consumer protocol is a member of it, in its generation."""
    return (yield from _answered_in_its_generation(members, request))


@of_method(GroupMembers, "sync")
def sync_is_refused(
    members: GroupMembers, _: Waiter, request: SyncGroupRequest, *__: int
) -> Generator[None, Decided, Broken]:
    """Who gets its share in a group of the consumer protocol is a member, in its generation."""
    late, named = ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return (yield from _answered_in_its_generation(members, request, late, named))


def _answered_in_its_generation(
    members: GroupMembers, request: HeartbeatRequest | SyncGroupRequest, *but: ErrorCode
) -> Generator[None, Decided, Broken]:
    """Say whether who may is served, or refused with one of ``but``, and nobody else served."""
    who = request.member_id, request.group_instance_id, request.generation_id
    group = members.consumer.get(request.group_id)
    may = group is None or _is_classic(group, *who)
    try:
        yield
    except KafkaError as refused:
        is_wrong = may and group is not None and refused.code not in but
        return f"{who} is refused with {refused.code.name}: {group}" if is_wrong else None
    return None if may else f"{who} is served, of {group and group.members}"
