"""What the phases of a rebalance promise: who is waited for, how long, and what who waits is told.

Source: GroupMetadataManager.java (prepareRebalance, completeClassicGroupJoin), KIP-134, KIP-345.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from broker.core.coordination import Waiter
from broker.core.groups.classic_group import ClassicGroup, GroupState, Member
from broker.core.groups.decision import Decision
from broker.core.groups.rebalances import Rebalances, TimerKey, TimerKind
from protocol.errors import ErrorCode
from simulation.contracts.contract import Broken, of_method

_PREPARING, _COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE


def due_ms(rebalances: Rebalances, kind: TimerKind, group: ClassicGroup, who: str = "") -> Any:
    """Return when a timer of a group ends; None where there is none."""
    return rebalances._timers.due_ms(TimerKey(kind, group.group_id, who))  # noqa: SLF001 -- nothing public says it


def told_since(decision: Decision, count: int) -> dict[Waiter, Any]:
    """Return what was answered after the first ``count`` answers."""
    return {each.waiter: each.response for each in decision.decided().answers[count:]}


def answer_count(decision: Decision) -> int:
    """Return how many answers there are so far."""
    return len(decision.decided().answers)


def _not_told(told: Mapping[Waiter, Any], waiters: Mapping[str, Waiter], code: ErrorCode) -> Broken:
    wrong = [
        who
        for who, waiter in waiters.items()
        if waiter not in told or told[waiter].error_code != code
    ]
    return f"{wrong} are not told {code.name}" if wrong else None


def _without_session(rebalances: Rebalances, group: ClassicGroup, now_ms: int) -> list[str]:
    """Return the members whose sessions do not begin now."""
    return [
        each.member_id
        for each in group.members.values()
        if due_ms(rebalances, TimerKind.SESSION, group, each.member_id)
        != now_ms + each.session_timeout_ms
    ]


@of_method(Rebalances, "begin")
def begin(
    rebalances: Rebalances, group: ClassicGroup, decision: Decision
) -> Generator[None, None, Broken]:
    """All are to join again: who waits for an assignment is told so, and who comes is waited for.

    The first members of a group wait for more of them; others for the longest rebalance timeout.
    """
    count, before, generation = answer_count(decision), group.state, group.generation
    waiting = dict(group.sync_waiters) if before is _COMPLETING else {}
    is_missing = bool({*group.members, *group.pending} - set(group.join_waiters))
    yield
    told = told_since(decision, count)
    wrong = _not_told(told, waiting, ErrorCode.REBALANCE_IN_PROGRESS)
    if wrong or group.sync_waiters:
        return wrong or f"{list(group.sync_waiters)} wait still"
    if before is not GroupState.EMPTY and not is_missing:
        is_next = group.generation - generation == 1 and group.state is not _PREPARING
        return None if is_next else f"nobody is missing, and it is {group.state}"
    timeout_ms = max((each.rebalance_timeout_ms for each in group.members.values()), default=0)
    delay_ms = timeout_ms
    if before is GroupState.EMPTY:
        delay_ms = rebalances._config.group_initial_rebalance_delay_ms  # noqa: SLF001 -- as above
        left_ms = max(timeout_ms - delay_ms, 0)
        if (group.remaining_delay_ms, group.has_new_member) != (left_ms, False):
            return f"{group.remaining_delay_ms} ms are left to wait, not {left_ms}"
    held = (group.state, due_ms(rebalances, TimerKind.JOIN, group), len(group.unsynced))
    wanted = (_PREPARING, decision.now_ms + delay_ms, 0)
    is_timed = due_ms(rebalances, TimerKind.SYNC, group) is not None
    return f"{held}, not {wanted}; {is_timed}" if held != wanted or is_timed else None


@of_method(Rebalances, "complete_if_all_joined")
def complete_if_all_joined(
    rebalances: Rebalances, group: ClassicGroup, decision: Decision
) -> Generator[None, None, Broken]:
    """A join phase ends when nobody is missing, but the first of a group, which has its time."""
    before, generation = group.state, group.generation
    is_first = group.previous_state is GroupState.EMPTY
    is_missing = bool({*group.members, *group.pending} - set(group.join_waiters))
    yield
    ends = before is _PREPARING and not is_first and not is_missing
    if (group.generation != generation) is not ends or (group.state is not before) is not ends:
        return f"ends {ends}: {before} of {generation} becomes {group.state} of {group.generation}"
    return None


@of_method(Rebalances, "end_join_phase")
def end_join_phase(
    rebalances: Rebalances, group: ClassicGroup, decision: Decision
) -> Generator[None, None, Broken]:
    """A first join phase is longer for each that came meanwhile, up to the rebalance timeout.

    Any other ends now, with who joined.
    """
    is_first = group.previous_state is GroupState.EMPTY
    before, generation, left_ms = group.state, group.generation, group.remaining_delay_ms
    goes_on = is_first and group.has_new_member and left_ms > 0
    last_ms = group.initial_delay_ms
    yield
    if before is not _PREPARING:
        return f"{before}, and a join phase ends"
    if not goes_on:
        is_kept = group.state is _PREPARING and group.generation == generation
        waits = bool(group.members) and is_kept
        return f"it goes on, {left_ms} ms are left" if waits and group.join_waiters else None
    delay_ms = min(rebalances._config.group_initial_rebalance_delay_ms, left_ms)  # noqa: SLF001 -- as above
    due = due_ms(rebalances, TimerKind.JOIN, group)
    held = (due, group.state, group.has_new_member, group.remaining_delay_ms)
    wanted = (decision.now_ms + delay_ms, _PREPARING, False, max(left_ms - last_ms, 0))
    return None if held == wanted else f"{held}, not {wanted}"


@of_method(Rebalances, "complete_join")
def complete_join(
    rebalances: Rebalances, group: ClassicGroup, decision: Decision
) -> Generator[None, None, Broken]:
    """The next generation has who joined, and static members that did not; all others are out.

    Each is told the generation and its leader alone who is in it. While no static member of a
    group comes it goes on waiting.
    """
    count, generation = answer_count(decision), group.generation
    joined = dict(group.join_waiters)
    stays = [
        each.member_id
        for each in group.members.values()
        if each.member_id in joined or each.instance_id is not None
    ]
    yield
    if list(group.members) != stays:
        return f"{list(group.members)} are in it, not {stays}"
    now_ms, join_ms = decision.now_ms, due_ms(rebalances, TimerKind.JOIN, group)
    if stays and not joined:
        is_waiting = group.generation == generation and group.state is _PREPARING
        is_timed = join_ms == now_ms + group.rebalance_timeout_ms
        return None if is_waiting and is_timed else f"nobody joined: {group.state}, {join_ms}"
    if join_ms is not None or group.generation - generation != 1:
        return f"generation {group.generation} after {generation}, a join timer: {join_ms}"
    if not stays:
        return None if group.is_stored else "a group without members is not stored"
    told = told_since(decision, count)
    return _without_time(rebalances, group, now_ms) or _not_joined(group, joined, told)


def _without_time(rebalances: Rebalances, group: ClassicGroup, now_ms: int) -> Broken:
    if group.join_waiters or _without_session(rebalances, group, now_ms):
        return f"{list(group.join_waiters)} wait, others have no sessions"
    sync_ms = due_ms(rebalances, TimerKind.SYNC, group)
    if sync_ms != now_ms + group.rebalance_timeout_ms:
        return f"they are to ask for their shares until {sync_ms}"
    return None


def _not_joined(
    group: ClassicGroup, joined: Mapping[str, Waiter], told: Mapping[Waiter, Any]
) -> Broken:
    for who, waiter in joined.items():
        answer = told.get(waiter)
        if answer is None or answer.error_code:
            return f"{who} is told {answer}"
        members = [each.member_id for each in answer.members]
        wanted = list(group.members) if who == group.leader_id else []
        known = (answer.generation_id, answer.leader, answer.protocol_name, answer.member_id)
        if members != wanted or known != (
            (group.generation, group.leader_id, group.protocol_name or None, who)
        ):
            return f"{who} is told {known}, of {members}"
    news = [each.member_id for each in group.members.values() if each.is_new]
    return f"{news} were told their ids" if news else None


@of_method(Rebalances, "assign")
def assign(
    rebalances: Rebalances,
    group: ClassicGroup,
    assignments: Mapping[str, bytes],
    decision: Decision,
) -> Generator[None, None, Broken]:
    """Each member gets what its leader gave to it, once that is stored; then a group is stable.

    What the log would not take is not assigned: all join again.
    """
    count, records = answer_count(decision), len(decision.decided().records)
    waiting = dict(group.sync_waiters)
    yield
    told = told_since(decision, count)
    if group.state is not GroupState.STABLE:
        wrong = _not_told(told, waiting, ErrorCode.UNKNOWN_SERVER_ERROR)
        is_written = len(decision.decided().records) > records
        return wrong or ("an assignment is stored that is not given" if is_written else None)
    if len(decision.decided().records) - records != 1 or group.sync_waiters:
        return f"{list(group.sync_waiters)} wait, stored are {decision.decided().records}"
    for who, member in group.members.items():
        given = assignments.get(who, b"")
        if member.assignment != given:
            return f"{who} has {member.assignment!r}, given was {given!r}"
        if who in waiting and told[waiting[who]].assignment != given:
            return f"{who} is told {told[waiting[who]]}"
    late = [
        each for each in _without_session(rebalances, group, decision.now_ms) if each in waiting
    ]
    return f"sessions of {late} do not begin" if late else _not_told(told, waiting, ErrorCode.NONE)


@of_method(Rebalances, "end_sync_phase")
def end_sync_phase(
    rebalances: Rebalances, group: ClassicGroup, decision: Decision
) -> Generator[None, None, Broken]:
    """Who did not ask for its share in time is out, and the others share anew."""
    late, before = list(group.unsynced), group.state
    rest = [each for each in group.members if each not in late]
    yield
    if not late:
        return None if group.state is before else f"{before} becomes {group.state}, all asked"
    is_begun = group.state is not before or group.unsynced.keys() <= set(rest)
    if list(group.members) != rest or not is_begun:
        return f"{list(group.members)} are left in {group.state}, {late} were late"
    return None


@of_method(Rebalances, "forget_unsynced")
def forget_unsynced(
    rebalances: Rebalances, group: ClassicGroup, member_id: str
) -> Generator[None, None, Broken]:
    """Nobody is late any more when all have asked for their shares."""
    wanted = [each for each in group.unsynced if each != member_id]
    yield
    is_timed = due_ms(rebalances, TimerKind.SYNC, group) is not None
    if list(group.unsynced) != wanted or (is_timed and not wanted):
        return f"{list(group.unsynced)} did not ask, not {wanted}; timed: {is_timed}"
    return None


@of_method(Rebalances, "end_session")
def end_session(
    rebalances: Rebalances, group: ClassicGroup, member_id: str, decision: Decision
) -> Generator[None, None, Broken]:
    """Who is silent for its session is out, and so is an id that nobody came with.

    Who waits for an answer is not silent, unless it never heard its id.
    """
    member = group.members.get(member_id)
    waits = member_id in {**group.join_waiters, **group.sync_waiters}
    stays = member is not None and waits and not member.is_new
    before, generation = group.state, group.generation
    yield
    is_there = member_id in {**group.members, **group.pending}
    if is_there is not stays:
        return f"{member_id} {'stays' if is_there else 'goes'}: waits {waits}, {member}"
    rebalances_now = before in {_COMPLETING, GroupState.STABLE} and member is not None
    if stays or not rebalances_now:
        return None
    has_moved = group.state is _PREPARING or group.generation > generation
    return None if has_moved else f"{before} stays {group.state} without {member_id}"


@of_method(Rebalances, "go_on_without")
def go_on_without(
    rebalances: Rebalances, group: ClassicGroup, decision: Decision, *, was_member: bool = True
) -> Generator[None, None, Broken]:
    """Where somebody went the others share anew, or wait for it no longer."""
    before, generation = group.state, group.generation
    is_missing = bool({*group.members, *group.pending} - set(group.join_waiters))
    is_first = group.previous_state is GroupState.EMPTY
    yield
    moves = was_member and before in {_COMPLETING, GroupState.STABLE}
    if before is _PREPARING:
        moves = not is_first and not is_missing
    has_moved = (group.state, group.generation) != (before, generation)
    return None if has_moved is moves else f"{before} becomes {group.state}, moves: {moves}"


def _waiting(group: ClassicGroup, member_id: str) -> dict[str, int]:
    """Return what a member waits for: an answer to its JoinGroup, to its SyncGroup, or to both."""
    waiters = enumerate((group.join_waiters, group.sync_waiters))
    return {str(at): found[member_id] for at, found in waiters if member_id in found}


@of_method(Rebalances, "remove")
def remove(
    rebalances: Rebalances, group: ClassicGroup, member_id: str, decision: Decision
) -> Generator[None, None, Broken]:
    """Who is removed is told that it is unknown, if it waits, and nothing of it is left."""
    count = answer_count(decision)
    waiting = _waiting(group, member_id)
    yield
    is_timed = due_ms(rebalances, TimerKind.SESSION, group, member_id) is not None
    if is_timed or member_id in {**group.members, **group.pending, **group.join_waiters}:
        return f"{member_id} is there still, timed: {is_timed}"
    return _not_told(told_since(decision, count), waiting, ErrorCode.UNKNOWN_MEMBER_ID)


@of_method(Rebalances, "fence")
def fence(
    rebalances: Rebalances, group: ClassicGroup, member_id: str, decision: Decision
) -> Generator[None, None, Broken]:
    """A process whose place another one has is told so, if it waits."""
    count = answer_count(decision)
    waiting = _waiting(group, member_id)
    yield
    is_timed = due_ms(rebalances, TimerKind.SESSION, group, member_id) is not None
    if is_timed or member_id in {**group.join_waiters, **group.sync_waiters}:
        return f"{member_id} waits still, timed: {is_timed}"
    return _not_told(told_since(decision, count), waiting, ErrorCode.FENCED_INSTANCE_ID)


@of_method(Rebalances, "send_away")
def send_away(
    rebalances: Rebalances, group: ClassicGroup, decision: Decision
) -> Generator[None, None, Broken]:
    """Who waits for a group that ends is to join what takes its place; no timer is left of it."""
    count, waiting = answer_count(decision), {**group.join_waiters, **group.sync_waiters}
    yield
    kinds = (TimerKind.JOIN, TimerKind.SYNC)
    timed = [kind for kind in kinds if due_ms(rebalances, kind, group) is not None]
    sessions = [
        each
        for each in (*group.members, *group.pending)
        if due_ms(rebalances, TimerKind.SESSION, group, each) is not None
    ]
    if timed or sessions or group.join_waiters or group.sync_waiters:
        return f"timers are left: {timed}, {sessions}"
    return _not_told(told_since(decision, count), waiting, ErrorCode.REBALANCE_IN_PROGRESS)


@of_method(Rebalances, "renew_session")
def renew_session(
    rebalances: Rebalances, group: ClassicGroup, member: Member, now_ms: int
) -> Generator[None, None, Broken]:
    """A member that was heard of has its whole session before it."""
    yield
    due = due_ms(rebalances, TimerKind.SESSION, group, member.member_id)
    wanted = now_ms + member.session_timeout_ms
    return None if due == wanted else f"{member.member_id} has time until {due}, not {wanted}"
