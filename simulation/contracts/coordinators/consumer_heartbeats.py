"""What a coordinator promises of heartbeats of the consumer protocol: who may go on, with what.

Source: GroupMetadataManager.consumerGroupHeartbeat, consumerGroupLeave; KIP-848.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Final

from broker.core.groups.consumer import consumer_heartbeats
from broker.core.groups.consumer.consumer_group import ConsumerGroup
from broker.core.groups.consumer.consumer_heartbeats import ConsumerHeartbeats, Heartbeating
from broker.core.groups.consumer.consumer_member import ConsumerMember, MemberState
from broker.core.groups.consumer.consumer_rebalances import TimerKey, TimerKind
from broker.core.groups.consumer.group_settings import ConsumerGroupSettings
from broker.core.groups.decision import Decision
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.consumer_groups import ConsumerGroupHeartbeatResponse
from simulation.contracts.contract import Broken, of_function, of_method
from simulation.contracts.coordinators.consumer_group import held_places

_JOINS: Final = 0
_IS_AWAY: Final = -2
_UNCHANGED: Final = -1
_NOT_JUDGED: Final = (ErrorCode.INVALID_REGULAR_EXPRESSION,)
_NO_OTHER_SIDE: Final = ("unterminated subpattern", "unbalanced parenthesis")


def _holder(group: ConsumerGroup, instance_id: str | None) -> ConsumerMember | None:
    """Return who has an instance id, by what members say."""
    static = (each for each in group.members.values() if instance_id is not None)
    return next((each for each in static if each.instance_id == instance_id), None)


@of_function(consumer_heartbeats.check_member)
def check_member(
    group: ConsumerGroup, heartbeating: Heartbeating, *, size_max: int
) -> Generator[None, None, Broken]:
    """Only a member may go on, in its epoch, and nobody has an instance id that another one holds.

    In the epoch before its own a member may be that got no answer, and has nothing else since. What
    is no regular expression nobody subscribes to.
    """
    wanted = refusal(group, heartbeating, size_max)
    try:
        yield
    except KafkaError as refused:
        is_right = refused.code is wanted or refused.code in _NOT_JUDGED
        told = f"{refused.code.name}, not {wanted.name}: {heartbeating.request}, {group.members}"
        return None if is_right else told
    if wanted is ErrorCode.NONE and _is_no_expression(heartbeating.request.subscribed_topic_regex):
        wanted = ErrorCode.INVALID_REGULAR_EXPRESSION
    if wanted is ErrorCode.NONE:
        return None
    return f"{heartbeating.request} is not refused with {wanted.name}: {group.members}"


def _is_no_expression(said: str | None) -> bool:
    """Tell whether parentheses have no other side, as in no dialect."""
    try:
        re.compile(said or "")
    except re.error as error:
        return any(word in error.msg for word in _NO_OTHER_SIDE)
    return False


def refusal(group: ConsumerGroup, heartbeating: Heartbeating, size_max: int) -> ErrorCode:
    """Return why somebody may not go on in a group; NONE: it may."""
    request = heartbeating.request
    if request.member_id not in group.members and len(group.members) >= size_max:
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    joins = request.member_epoch == _JOINS
    holder = _holder(group, request.instance_id)
    member = group.members.get(heartbeating.member_id)
    if request.instance_id is not None:
        if joins:
            is_taken = holder is not None and holder.classic is None and holder.epoch != _IS_AWAY
            return ErrorCode.UNRELEASED_INSTANCE_ID if is_taken else ErrorCode.NONE
        if holder is not None and holder.member_id != heartbeating.member_id:
            return ErrorCode.FENCED_INSTANCE_ID
        member = holder
    if member is None:
        return ErrorCode.NONE if joins else ErrorCode.UNKNOWN_MEMBER_ID
    is_lost = member.state is MemberState.UNKNOWN and request.topic_partitions != []
    if is_lost or not (joins or _is_in_epoch(member, heartbeating)):
        return ErrorCode.FENCED_MEMBER_EPOCH
    return ErrorCode.NONE


def _is_in_epoch(member: ConsumerMember, heartbeating: Heartbeating) -> bool:
    request = heartbeating.request
    if request.member_epoch == member.epoch:
        return True
    rows = request.topic_partitions
    if rows is None or not request.member_epoch == member.previous_epoch < member.epoch:
        return False
    claimed = {(bytes(row.topic_id), index) for row in rows for index in row.partitions}
    return claimed <= held_places(member.assigned)


@of_method(ConsumerHeartbeats, "beat")
def beat(
    heartbeats: ConsumerHeartbeats,
    group: ConsumerGroup,
    heartbeating: Heartbeating,
    settings: ConsumerGroupSettings,
    decision: Decision,
) -> Generator[None, ConsumerGroupHeartbeatResponse, Broken]:
    """A member is what it says, lives on for a session, and knows after the answer what it has."""
    request, member_id = heartbeating.request, heartbeating.member_id
    before = group.members.get(member_id) or _holder(group, request.instance_id)
    timers = heartbeats._rebalances.timers  # noqa: SLF001 -- nothing public has them
    answer = yield
    member = group.members.get(member_id)
    if member is None:
        return f"{member_id} is answered, and is no member"
    if (answer.member_id, answer.member_epoch) != (member_id, member.epoch):
        return f"{answer} is told to {member}"
    due_ms = timers.due_ms(TimerKey(TimerKind.SESSION, group.group_id, member_id))
    if due_ms != decision.now_ms + settings.session_timeout_ms:
        return f"{member_id} has until {due_ms}, asked at {decision.now_ms}"
    return _untold(heartbeating, before, member, answer) or _unheard(heartbeating, before, member)


def _untold(
    heartbeating: Heartbeating,
    before: ConsumerMember | None,
    member: ConsumerMember,
    answer: ConsumerGroupHeartbeatResponse,
) -> Broken:
    request, has = heartbeating.request, held_places(member.assigned)
    if answer.assignment is not None:
        rows = answer.assignment.topic_partitions
        told = {(bytes(row.topic_id), index) for row in rows for index in row.partitions}
        return None if told == has else f"{told} is told to {member}"
    reads = (request.subscribed_topic_names, request.subscribed_topic_regex)
    says_all = reads != (None, None) and request.topic_partitions is not None
    if request.member_epoch == _JOINS or (says_all and request.rebalance_timeout_ms >= 0):
        return f"{request} says all, and is not told of {has}"
    knew = set[tuple[bytes, int]]() if before is None else held_places(before.assigned)
    return None if knew == has else f"{member} is not told of {has}, and had {knew}"


def _unheard(
    heartbeating: Heartbeating, before: ConsumerMember | None, member: ConsumerMember
) -> Broken:
    request = heartbeating.request
    was = before or ConsumerMember(member_id=member.member_id)
    names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
    timeout_ms = request.rebalance_timeout_ms
    wanted = (
        was.topics if names is None else frozenset(names),
        was.regex if regex is None else regex,
        was.rebalance_timeout_ms if timeout_ms == _UNCHANGED else timeout_ms,
        request.server_assignor or was.assignor,
        request.instance_id or was.instance_id,
        None,
    )
    known = (member.topics, member.regex, member.rebalance_timeout_ms)
    known = (*known, member.assignor, member.instance_id, member.classic)
    return None if known == wanted else f"{known} is known, {wanted} was said"


@of_method(ConsumerHeartbeats, "member_or_new")
def member_or_new(
    heartbeats: ConsumerHeartbeats,
    group: ConsumerGroup,
    member_id: str,
    instance_id: str | None,
    decision: Decision,
) -> Generator[None, ConsumerMember, Broken]:
    """Who takes a static member's place has what that one had, and shall have what it should."""
    del decision
    holder, known = _holder(group, instance_id), group.members.get(member_id)
    target = None if holder is None else group.targets.get(holder.member_id, {})
    timers = heartbeats._rebalances.timers  # noqa: SLF001 -- as above
    member = yield
    if holder is None or holder.member_id == member_id:
        is_right = member is known if known is not None else not held_places(member.assigned)
        return None if is_right else f"{member} is told, {known} was known"
    if holder.member_id in group.members or group.members.get(member_id) != member:
        return f"{member} takes the place of {holder}: {group.members}"
    has, had = (member.assigned, member.revoking), (holder.assigned, holder.revoking)
    if (has, member.epoch) != (had, _JOINS) or group.targets.get(member_id, {}) != target:
        return f"{member} for {group.targets.get(member_id)} follows {holder} for {target}"
    left = [
        kind for kind in TimerKind if TimerKey(kind, group.group_id, holder.member_id) in timers
    ]
    return f"{left} of {holder.member_id} go on" if left else None


@of_method(ConsumerHeartbeats, "leave")
def leave(
    heartbeats: ConsumerHeartbeats,
    group: ConsumerGroup,
    heartbeating: Heartbeating,
    decision: Decision,
) -> Generator[None, ConsumerGroupHeartbeatResponse, Broken]:
    """Who leaves has nothing any more; a static member may be away, and keeps what it has."""
    del decision
    request = heartbeating.request
    member = group.members.get(request.member_id)
    holder = _holder(group, request.instance_id)
    groups = heartbeats._rebalances.groups  # noqa: SLF001 -- as above
    wanted = ErrorCode.UNKNOWN_MEMBER_ID if member is None else ErrorCode.NONE
    if request.instance_id is not None and (holder is None or holder is not member):
        wanted = ErrorCode.UNKNOWN_MEMBER_ID if holder is None else ErrorCode.FENCED_INSTANCE_ID
    try:
        answer = yield
    except KafkaError as refused:
        return None if refused.code is wanted else f"{refused.code.name}, not {wanted.name}"
    if wanted is not ErrorCode.NONE or member is None:
        return f"{request} is not refused with {wanted.name}"
    if answer.member_epoch != request.member_epoch:
        return f"epoch {answer.member_epoch} is told, {request.member_epoch} was said"
    now = group.members.get(member.member_id)
    if request.member_epoch != _IS_AWAY or request.instance_id is None:
        is_gone = now is None or groups.get(group.group_id) is not group
        return None if is_gone else f"{now} has left"
    return _wrongly_away(member, now)


def _wrongly_away(member: ConsumerMember, now: ConsumerMember | None) -> Broken:
    if now is None or now.epoch != _IS_AWAY or held_places(now.revoking):
        return f"{member} is away: {now}"
    epochs = {epoch for held in now.assigned.values() for epoch in held.values()}
    is_kept = held_places(now.assigned) == held_places(member.assigned)
    return None if is_kept and epochs <= {_JOINS} else f"{member} is away, and has {now.assigned}"
