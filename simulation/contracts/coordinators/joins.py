"""What is promised to who joins a group of the classic protocol.

Source: GroupMetadataManager.java (classicGroupJoin and what it calls); KIP-345, KIP-394, KIP-814.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple, TypeAlias

from broker.core.coordination import Decided
from broker.core.groups.classic_group import ClassicGroup, GroupState
from broker.core.groups.classic_groups import ClassicGroups
from broker.core.groups.joins import Joining
from broker.core.groups.rebalances import TimerKind
from protocol.configs.coordination import CoordinationConfig
from protocol.errors import ErrorCode
from simulation.contracts.contract import Broken, of_method
from simulation.contracts.coordinators.classic_group import refusal
from simulation.contracts.coordinators.classic_requests import answer_to, due_ms, not_whole

_PREPARING, _COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE


class _Before(NamedTuple):
    """What a group was."""

    state: GroupState
    generation: int
    leader_id: str | None
    members: frozenset[str]
    said: dict[str, Any]
    """What each member said under which protocols."""
    static: dict[str, str]
    pending: frozenset[str]
    joined: dict[str, int]
    synced: dict[str, int]

    @classmethod
    def of(cls, group: ClassicGroup) -> _Before:
        return cls(
            group.state,
            group.generation,
            group.leader_id,
            frozenset(group.members),
            {who: list(each.protocols) for who, each in group.members.items()},
            dict(group.instances),
            frozenset(group.pending),
            dict(group.join_waiters),
            dict(group.sync_waiters),
        )


_Fate: TypeAlias = ErrorCode | str


def _fate_of(
    group: ClassicGroup | None, before: _Before, joining: Joining, config: CoordinationConfig
) -> _Fate:
    """Return why somebody does not join, or how it does, in Kafka's order."""
    request, who = joining.request, joining.request.member_id
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    shortest, longest = config.group_min_session_timeout_ms, config.group_max_session_timeout_ms
    if request.session_timeout_ms < shortest or request.session_timeout_ms > longest:
        return ErrorCode.INVALID_SESSION_TIMEOUT
    if group is None:
        if who:
            return ErrorCode.UNKNOWN_MEMBER_ID
        group = ClassicGroup(request.group_id, state=GroupState.EMPTY, state_since_ms=None)
    there = before.joined if before.state is _PREPARING else before.members
    is_full = len(there) >= config.group_max_size and who not in there
    if is_full and before.state is not GroupState.EMPTY:
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    if not _is_supported(group, joining):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return _with_id(group, before, joining) if who else _without_id(before, joining)


def _is_supported(group: ClassicGroup, joining: Joining) -> bool:
    names = {row.name for row in joining.request.protocols}
    kind = joining.request.protocol_type
    if not group.members:
        return bool(kind and names)
    for member in group.members.values():
        names &= {name for name, _ in member.protocols}
    return bool(names) and kind == group.protocol_type


def _without_id(before: _Before, joining: Joining) -> _Fate:
    instance_id = joining.request.group_instance_id
    if instance_id is not None:
        return "replaces" if instance_id in before.static else "waits"
    return ErrorCode.MEMBER_ID_REQUIRED if joining.version > 3 else "waits"


def _with_id(group: ClassicGroup, before: _Before, joining: Joining) -> _Fate:
    who, instance_id = joining.request.member_id, joining.request.group_instance_id
    if who in before.pending and instance_id is None:
        return "waits"
    code = refusal(group, who, instance_id)
    if code is not ErrorCode.NONE:
        return code
    is_same = before.said[who] == joining.protocols
    knows = before.state is _COMPLETING or (
        before.state is GroupState.STABLE and who != before.leader_id
    )
    return "told again" if is_same and knows else "waits"


@of_method(ClassicGroups, "join")
def join(
    groups: ClassicGroups, joining: Joining, now_ms: int, wall_ms: int
) -> Generator[None, Decided, Broken]:
    """Who may join waits for the others, who may not is told why; a rebalance begins for both.

    A member that asks again without news is told what it knew, and one without an id gets one
    first, which it has to come with in time.
    """
    group_id = joining.request.group_id
    group = groups.get(group_id)
    empty = ClassicGroup(group_id, state=GroupState.EMPTY, state_since_ms=None)
    before = _Before.of(group or empty)
    fate = _fate_of(group, before, joining, groups._config)  # noqa: SLF001 -- nothing public says it
    decided = yield
    if isinstance(fate, ErrorCode):
        return _not_refused(groups, before, joining, fate, decided, now_ms)
    group = groups.get(group_id)
    if group is None:
        return f"{group_id} is not there, and somebody joined: {decided}"
    if fate == "told again":
        told = answer_to(decided, joining.waiter)
        knows = told is not None and (told.error_code, told.generation_id) == (0, group.generation)
        return None if knows and _Before.of(group) == before else f"{decided} instead of the same"
    rule = _not_replaced if fate == "replaces" else _not_waiting
    return rule(group, before, joining, decided) or not_whole(groups, group_id)


def _not_refused(
    groups: ClassicGroups,
    before: _Before,
    joining: Joining,
    code: ErrorCode,
    decided: Decided,
    now_ms: int,
) -> Broken:
    group_id, told = joining.request.group_id, answer_to(decided, joining.waiter)
    if told is None or told.error_code != code:
        return f"{decided}, not {code.name}"
    if code is ErrorCode.GROUP_MAX_SIZE_REACHED:
        return not_whole(groups, group_id)
    if code is ErrorCode.MEMBER_ID_REQUIRED:
        return _not_to_come(groups, joining, before, told, now_ms) or not_whole(groups, group_id)
    group = groups.get(group_id)
    is_kept = (before if group is None else _Before.of(group)) == before
    return None if is_kept and not decided.records else f"{code.name}, and {before} changed"


def _not_to_come(
    groups: ClassicGroups, joining: Joining, before: _Before, told: Any, now_ms: int
) -> Broken:
    """Say how an id was not given for coming with it."""
    request = joining.request
    group = groups.get(request.group_id)
    who = told.member_id
    if group is None or who in before.pending | before.members or who not in group.pending:
        return f"{who} is to come, before were {before}"
    due = due_ms(groups, TimerKind.SESSION, request.group_id, who)
    if due != now_ms + request.session_timeout_ms:
        return f"{who} is to come until {due}, it is {now_ms}"
    is_kept = (group.state, group.generation) == (before.state, before.generation)
    return None if is_kept else f"{before} becomes {group.state}: nobody came yet"


def _not_waiting(
    group: ClassicGroup, before: _Before, joining: Joining, decided: Decided
) -> Broken:
    """Say how who joined is not a member, with what it says, that waits or has an answer."""
    request, told = joining.request, answer_to(decided, joining.waiter)
    waiting = [who for who, waiter in group.join_waiters.items() if waiter == joining.waiter]
    who = told.member_id if told is not None else next(iter(waiting), "")
    member = group.members.get(who)
    if member is None or (request.member_id and who != request.member_id):
        return f"{who} joined, members are {list(group.members)}: {decided}"
    said = (member.session_timeout_ms, member.rebalance_timeout_ms, member.instance_id)
    lasts_ms = request.rebalance_timeout_ms if joining.version > 0 else request.session_timeout_ms
    wanted = (request.session_timeout_ms, lasts_ms, request.group_instance_id)
    if said != wanted or list(member.protocols) != joining.protocols:
        return f"it says {wanted}, known is {said}"
    earlier = before.joined.get(who)
    if earlier is not None and answer_to(decided, earlier) is None:
        return f"{who} waits twice"
    if told is None:
        is_same = group.generation == before.generation and group.state is _PREPARING
        return None if is_same else f"{who} waits, {before} becomes {group.state}"
    is_next = group.generation == before.generation + 1 == told.generation_id
    is_told = is_next and not told.error_code and group.state is _COMPLETING
    return None if is_told else f"{told} after {before}"


def _not_replaced(
    group: ClassicGroup, before: _Before, joining: Joining, decided: Decided
) -> Broken:
    """Say how a static member that came back did not take the place of itself."""
    instance_id = joining.request.group_instance_id or ""
    old, new = before.static[instance_id], group.instances.get(instance_id)
    if old in group.members or new is None or new not in group.members or new == old:
        return f"{old} became {new}: {list(group.members)}"
    for waiter in (before.joined.get(old), before.synced.get(old)):
        told = None if waiter is None else answer_to(decided, waiter)
        if waiter is not None and (told is None or told.error_code != ErrorCode.FENCED_INSTANCE_ID):
            return f"{old} is told {told}"
    if before.leader_id == old and group.leader_id != new:
        return f"{old} led, now {group.leader_id} does"
    is_again = group.state is _PREPARING or group.generation != before.generation
    if before.state is _COMPLETING and not is_again:
        return f"{old} is {new}, and its leader may assign to {old}: {group.state}"
    if before.state is GroupState.STABLE and group.state is GroupState.STABLE:
        told = answer_to(decided, joining.waiter)
        is_told = told is not None and (told.error_code, told.member_id) == (0, new)
        is_stored = len(decided.records) == 1 and group.generation == before.generation
        return None if is_told and is_stored else f"{new} came back to a stable group: {decided}"
    return None
