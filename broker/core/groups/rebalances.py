"""The phases of a rebalance, their timers, and the answers that members wait for.

Who may join or sync is decided elsewhere. Every member that does not wait has a session timer, a
join phase has one that ends it, and so have members that did not ask for their assignment yet.
Source: GroupMetadataManager (prepareRebalance, completeClassicGroupJoin and what they call).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final, NamedTuple

from broker.core.coordination import Record, batch_size_bound
from broker.core.groups.classic_group import ClassicGroup, GroupState, Member
from broker.core.groups.decision import Decision
from broker.core.groups.group_metadata import group_record
from broker.core.timers import Timers
from protocol.configs.coordination import CoordinationConfig
from protocol.errors import ErrorCode
from protocol.messages.groups import (
    JoinGroupResponse,
    JoinGroupResponseMember,
    SyncGroupResponse,
)

NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 300_000
"""So long a join of a member that cannot heartbeat yet may wait; then it has to ask again."""
_NO_GENERATION: Final = -1


class TimerKind(Enum):
    """What a timer of a group ends."""

    SESSION = "session"
    JOIN = "join"
    SYNC = "sync"


class TimerKey(NamedTuple):
    """Names a timer."""

    kind: TimerKind
    group_id: str
    member_id: str = ""
    """For sessions."""


def joined(
    group: ClassicGroup, member_id: str, *, skip_assignment: bool = False, leader: str | None = None
) -> JoinGroupResponse:
    """Return the answer to a member of the present generation; its leader is told of all."""
    is_leader = group.leader_id == member_id and leader is None
    return JoinGroupResponse(
        error_code=ErrorCode.NONE,
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name or None,  # Kafka tells none where it is empty.
        leader=leader or group.leader_id or "",
        skip_assignment=skip_assignment,
        member_id=member_id,
        members=[
            JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                metadata=member.metadata(group.protocol_name),
            )
            for member in group.members.values()
        ]
        if is_leader
        else [],
    )


def join_refused(error: ErrorCode, member_id: str = "") -> JoinGroupResponse:
    """Return the answer to who is not taken in, or not yet."""
    return JoinGroupResponse(
        error_code=error,
        generation_id=_NO_GENERATION,
        protocol_type=None,
        protocol_name=None,
        leader="",
        skip_assignment=False,
        member_id=member_id,
        members=[],
    )


def synced(group: ClassicGroup, member: Member) -> SyncGroupResponse:
    """Return the answer that has a member's assignment."""
    return SyncGroupResponse(
        error_code=ErrorCode.NONE,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=member.assignment,
    )


def sync_refused(error: ErrorCode) -> SyncGroupResponse:
    """Return the answer to who gets no assignment."""
    return SyncGroupResponse(
        error_code=error, protocol_type=None, protocol_name=None, assignment=b""
    )


class Rebalances:
    """Moves groups through their rebalances."""

    __slots__ = ("_batch_bytes_max", "_config", "_timers")

    def __init__(
        self,
        timers: Timers[TimerKey],
        config: CoordinationConfig,
        batch_bytes_max: Callable[[], int],
    ) -> None:
        self._timers = timers
        self._config = config
        self._batch_bytes_max = batch_bytes_max

    def begin_or_complete(self, group: ClassicGroup, decision: Decision) -> None:
        """Begin a rebalance; in one, end its join phase if all have joined."""
        if group.is_in(GroupState.PREPARING_REBALANCE):
            self.complete_if_all_joined(group, decision)
        else:
            self.begin(group, decision)

    def begin(self, group: ClassicGroup, decision: Decision) -> None:
        """Have all members join again; a group without members waits for more of them."""
        if group.is_in(GroupState.COMPLETING_REBALANCE):
            self._refuse_syncs(group, ErrorCode.REBALANCE_IN_PROGRESS, decision)
        group.unsynced.clear()
        self._timers.cancel(TimerKey(TimerKind.SYNC, group.group_id))
        group.move_to(GroupState.PREPARING_REBALANCE, decision.wall_ms)
        if group.is_initial_rebalance:
            delay_ms = self._config.group_initial_rebalance_delay_ms
            group.initial_delay_ms = delay_ms
            group.remaining_delay_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
            group.has_new_member = False
            self._set_join_timer(group, delay_ms, decision)
        elif group.have_all_joined:
            self.complete_join(group, decision)
        else:
            self._set_join_timer(group, group.rebalance_timeout_ms, decision)

    def complete_if_all_joined(self, group: ClassicGroup, decision: Decision) -> None:
        """End the join phase if there is one, but for a first one, which has its time."""
        if (
            group.is_in(GroupState.PREPARING_REBALANCE)
            and not group.is_initial_rebalance
            and group.have_all_joined
        ):
            self.complete_join(group, decision)

    def end_join_phase(self, group: ClassicGroup, decision: Decision) -> None:
        """Its timer is due: wait on for a group that still grows, else go on with who joined."""
        if group.is_initial_rebalance and group.has_new_member and group.remaining_delay_ms:
            group.has_new_member = False
            delay_ms = min(self._config.group_initial_rebalance_delay_ms, group.remaining_delay_ms)
            group.remaining_delay_ms = max(group.remaining_delay_ms - group.initial_delay_ms, 0)
            group.initial_delay_ms = delay_ms
            self._set_join_timer(group, delay_ms, decision)
        else:
            self.complete_join(group, decision)

    def complete_join(self, group: ClassicGroup, decision: Decision) -> None:
        """Begin the next generation with who joined; static members stay without joining."""
        self._timers.cancel(TimerKey(TimerKind.JOIN, group.group_id))
        for member_id, member in list(group.members.items()):
            if member_id not in group.join_waiters and member.instance_id is None:
                self.remove(group, member_id, decision)
        if group.members and not group.elect_joined_leader():
            self._set_join_timer(group, group.rebalance_timeout_ms, decision)
            return
        group.begin_generation(decision.wall_ms)
        if group.members:
            self._answer_joins(group, decision)
        else:
            self.store(group, group_record(group), decision)

    def assign(
        self, group: ClassicGroup, assignments: Mapping[str, bytes], decision: Decision
    ) -> None:
        """Take the leader's assignment: all that wait get theirs once it is replicated."""
        for member_id, member in group.members.items():
            member.assignment = assignments.get(member_id, b"")
        record = group_record(group)
        if not self.fits(record):
            self._refuse_syncs(group, ErrorCode.UNKNOWN_SERVER_ERROR, decision)
            self.begin(group, decision)
            return
        group.move_to(GroupState.STABLE, decision.wall_ms)
        self.store(group, record, decision)
        for member_id in list(group.sync_waiters):
            member = group.members[member_id]
            decision.answer(group.sync_waiters.pop(member_id), synced(group, member))
            self.renew_session(group, member, decision.now_ms)

    def end_sync_phase(self, group: ClassicGroup, decision: Decision) -> None:
        """Its timer is due: who did not ask for its assignment is no member any more."""
        if not group.unsynced:
            return
        for member_id in list(group.unsynced):
            self.remove(group, member_id, decision)
        self.begin(group, decision)

    def forget_unsynced(self, group: ClassicGroup, member_id: str) -> None:
        """A member asked for its assignment."""
        group.unsynced.pop(member_id, None)
        if not group.unsynced:
            self._timers.cancel(TimerKey(TimerKind.SYNC, group.group_id))

    def end_session(self, group: ClassicGroup, member_id: str, decision: Decision) -> None:
        """Its timer is due: remove who was silent, unless it waits for an answer.

        A new member is removed even so: it may be gone, and it asks again if it is not.
        """
        member = group.members.get(member_id)
        is_waiting = member_id in group.join_waiters or member_id in group.sync_waiters
        if member is not None and is_waiting and not member.is_new:
            return
        self.remove(group, member_id, decision)
        self.go_on_without(group, decision, was_member=member is not None)

    def go_on_without(
        self, group: ClassicGroup, decision: Decision, *, was_member: bool = True
    ) -> None:
        """Somebody was removed: others get its share, or need not wait for it any longer."""
        if group.is_in(GroupState.PREPARING_REBALANCE):
            self.complete_if_all_joined(group, decision)
        elif was_member and not group.is_empty:
            self.begin(group, decision)

    def remove(self, group: ClassicGroup, member_id: str, decision: Decision) -> None:
        """Remove a member or an id that nobody joined with; if it waits, it shall ask anew."""
        unknown = ErrorCode.UNKNOWN_MEMBER_ID
        decision.answer(group.join_waiters.pop(member_id, None), join_refused(unknown))
        decision.answer(group.sync_waiters.pop(member_id, None), sync_refused(unknown))
        self._timers.cancel(TimerKey(TimerKind.SESSION, group.group_id, member_id))
        group.remove(member_id)

    def fence(self, group: ClassicGroup, member_id: str, decision: Decision) -> None:
        """Another process has a static member's instance id now: tell the one that waits."""
        fenced = ErrorCode.FENCED_INSTANCE_ID
        waiter = group.join_waiters.pop(member_id, None)
        decision.answer(waiter, join_refused(fenced, member_id))
        decision.answer(group.sync_waiters.pop(member_id, None), sync_refused(fenced))
        self._timers.cancel(TimerKey(TimerKind.SESSION, group.group_id, member_id))

    def send_away(self, group: ClassicGroup, decision: Decision) -> None:
        """The group ends while members may wait: they are to join what takes its place."""
        again = ErrorCode.REBALANCE_IN_PROGRESS
        for member_id in group.members:
            waiter = group.join_waiters.pop(member_id, None)
            decision.answer(waiter, join_refused(again, member_id))
            decision.answer(group.sync_waiters.pop(member_id, None), sync_refused(again))
        self.cancel_all(group)

    def renew_session(self, group: ClassicGroup, member: Member, now_ms: int) -> None:
        """A member was heard of."""
        self.set_session(group, member.member_id, member.session_timeout_ms, now_ms)

    def set_session(
        self, group: ClassicGroup, member_id: str, timeout_ms: int, now_ms: int
    ) -> None:
        """Give a member, or an id to join with, so long."""
        key = TimerKey(TimerKind.SESSION, group.group_id, member_id)
        self._timers.set(key, now_ms + timeout_ms)

    def cancel_all(self, group: ClassicGroup) -> None:
        """The group ends; nobody of it waits."""
        for kind in (TimerKind.JOIN, TimerKind.SYNC):
            self._timers.cancel(TimerKey(kind, group.group_id))
        for member_id in (*group.members, *group.pending):
            self._timers.cancel(TimerKey(TimerKind.SESSION, group.group_id, member_id))

    def fits(self, record: Record) -> bool:
        """Tell whether the log takes a record."""
        return batch_size_bound((record,)) <= self._batch_bytes_max()

    def store(self, group: ClassicGroup, record: Record, decision: Decision) -> None:
        """Have the log know the group as it is now."""
        decision.record(record)
        group.is_stored = True

    def _answer_joins(self, group: ClassicGroup, decision: Decision) -> None:
        for member_id, member in group.members.items():
            waiter = group.join_waiters.pop(member_id, None)
            if waiter is not None:
                decision.answer(waiter, joined(group, member_id))
            self.renew_session(group, member, decision.now_ms)
            member.is_new = False
        key = TimerKey(TimerKind.SYNC, group.group_id)
        self._timers.set(key, decision.now_ms + group.rebalance_timeout_ms)

    def _refuse_syncs(self, group: ClassicGroup, error: ErrorCode, decision: Decision) -> None:
        for member in group.members.values():
            member.assignment = b""
        for member_id in list(group.sync_waiters):
            decision.answer(group.sync_waiters.pop(member_id), sync_refused(error))
            self.renew_session(group, group.members[member_id], decision.now_ms)

    def _set_join_timer(self, group: ClassicGroup, delay_ms: int, decision: Decision) -> None:
        key = TimerKey(TimerKind.JOIN, group.group_id)
        self._timers.set(key, decision.now_ms + delay_ms)
