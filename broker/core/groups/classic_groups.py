"""The classic groups of one shard: what members ask, what is asked about groups, what is due.

Offsets are kept elsewhere; this only says who may commit them, and from when on they expire.
Source: GroupMetadataManager, GroupCoordinatorService; ClassicGroup.validateOffsetCommit and kin.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final

from broker.core.coordination import Decided, Record, Waiter
from broker.core.groups.classic_group import ClassicGroup, GroupState
from broker.core.groups.decision import Decision
from broker.core.groups.group_metadata import group_record, group_tombstone, stored_group
from broker.core.groups.joins import Joining, Joins
from broker.core.groups.leaves import leave
from broker.core.groups.membership import Committer, ExpiryRule
from broker.core.groups.rebalances import (
    Rebalances,
    TimerKey,
    TimerKind,
    join_refused,
    sync_refused,
    synced,
)
from broker.core.timers import Timers
from protocol.configs.coordination import CoordinationConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.group_records import GroupMetadataValue
from protocol.messages.groups import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)

_PROTOCOLS_SINCE: Final = 5
"""From this version on a SyncGroup says what it believes the protocol is (KIP-559)."""


class _AllTopics(Collection[str]):
    """Stands for what nobody can read."""

    def __contains__(self, topic: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


class ClassicGroups:
    """All classic groups of a shard that have members, or had; a `membership.Membership`."""

    __slots__ = ("_batch_bytes_max", "_config", "_groups", "_joins", "_rebalances", "_timers")

    def __init__(self, config: CoordinationConfig, batch_bytes_max: Callable[[], int]) -> None:
        """Begin without a group.

        Args:
            config: the broker's.
            batch_bytes_max: ``max.message.bytes`` of the topic.
        """
        self._config = config
        self._batch_bytes_max = batch_bytes_max
        self._groups: dict[str, ClassicGroup] = {}
        self._timers: Timers[TimerKey] = Timers()
        self._rebalances = Rebalances(self._timers, config, batch_bytes_max)
        self._joins = Joins(self._rebalances, config)

    # What there is.

    @property
    def groups(self) -> Sequence[ClassicGroup]:
        """All groups, in the order in which they came."""
        return list(self._groups.values())

    def get(self, group_id: str) -> ClassicGroup | None:
        """Return a group; None for one that is not there, which Kafka calls dead."""
        return self._groups.get(group_id)

    # The log, and time.

    def replay(self, group_id: str, value: GroupMetadataValue | None) -> None:
        """Take over a record of the log; None ends the group."""
        if value is None:
            self._groups.pop(group_id, None)
        else:
            self._groups[group_id] = stored_group(group_id, value)

    def loaded(self, now_ms: int, wall_ms: int) -> Decided:
        """Let sessions begin again; a group that is too large or has no leader has to join anew."""
        decision = Decision(now_ms, wall_ms)
        for group in self._groups.values():
            for member in group.members.values():
                self._rebalances.renew_session(group, member, decision.now_ms)
            is_led = group.is_empty or group.leader_id is not None
            if len(group.members) > self._config.group_max_size or not is_led:
                self._rebalances.begin(group, decision)
        return decision.decided()

    def next_due_ms(self) -> int | None:
        """Return when ``expire`` has something to do."""
        return self._timers.next_due_ms()

    def expire(self, now_ms: int, wall_ms: int) -> Decided:
        """Do what is due, or the first of it: what one batch has room for."""
        decision = Decision(now_ms, wall_ms)
        bytes_max = self._batch_bytes_max() // 2
        while (
            decision.size_bytes < bytes_max and (key := self._timers.take_due(now_ms)) is not None
        ):
            group = self._groups[key.group_id]
            match key.kind:
                case TimerKind.SESSION:
                    self._rebalances.end_session(group, key.member_id, decision)
                case TimerKind.JOIN:
                    self._rebalances.end_join_phase(group, decision)
                case TimerKind.SYNC:
                    self._rebalances.end_sync_phase(group, decision)
        return decision.decided()

    # What members ask.

    def join(self, joining: Joining, now_ms: int, wall_ms: int) -> Decided:
        """Answer with a JoinGroupResponse, when the group's join phase ends.

        A group comes to be by the first that asks for a member id; who has one is not its member.
        """
        decision = Decision(now_ms, wall_ms)
        request = joining.request
        group = self._groups.get(request.group_id)
        error = self._joins.error(request)
        if error is ErrorCode.NONE and group is None and request.member_id:
            error = ErrorCode.UNKNOWN_MEMBER_ID
        if error is not ErrorCode.NONE:
            decision.answer(joining.waiter, join_refused(error, request.member_id))
            return decision.decided()
        if group is None:
            group = _new_group(request.group_id, wall_ms)
        self._joins.join(group, joining, decision)
        if group.members or group.pending:
            self._groups[group.group_id] = group
        return decision.decided()

    def sync(
        self, waiter: Waiter, request: SyncGroupRequest, version: int, now_ms: int, wall_ms: int
    ) -> Decided:
        """Answer with a SyncGroupResponse, when the leader has assigned."""
        decision = Decision(now_ms, wall_ms)
        error = self._sync_error(request, version)
        if error is not ErrorCode.NONE:
            decision.answer(waiter, sync_refused(error))
            return decision.decided()
        group = self._groups[request.group_id]
        member = group.members[request.member_id]
        self._rebalances.forget_unsynced(group, request.member_id)
        if group.is_in(GroupState.STABLE):
            decision.answer(waiter, synced(group, member))
            return decision.decided()
        earlier = group.sync_waiters.pop(request.member_id, None)
        decision.answer(earlier, sync_refused(ErrorCode.REBALANCE_IN_PROGRESS))
        group.sync_waiters[request.member_id] = waiter
        if request.member_id == group.leader_id:
            assigned = {row.member_id: bytes(row.assignment) for row in request.assignments}
            self._rebalances.assign(group, assigned, decision)
        return decision.decided()

    def heartbeat(
        self, waiter: Waiter, request: HeartbeatRequest, now_ms: int, wall_ms: int
    ) -> Decided:
        """Answer with a HeartbeatResponse."""
        decision = Decision(now_ms, wall_ms)
        error, group = self._member_of(request)
        if group is not None:
            member = group.members[request.member_id]
            self._rebalances.renew_session(group, member, now_ms)
            if group.is_in(GroupState.PREPARING_REBALANCE):
                error = ErrorCode.REBALANCE_IN_PROGRESS
        decision.answer(waiter, HeartbeatResponse(error_code=error))
        return decision.decided()

    def leave(
        self, waiter: Waiter, request: LeaveGroupRequest, now_ms: int, wall_ms: int
    ) -> Decided:
        """Answer with a LeaveGroupResponse; a single ``member_id`` is one of ``members``."""
        decision = Decision(now_ms, wall_ms)
        group = self._groups.get(request.group_id)
        decision.answer(waiter, leave(self._rebalances, group, request, decision))
        return decision.decided()

    # Groups that change their protocol.

    def write_end(self, group: ClassicGroup, decision: Decision) -> None:
        """Have the log forget a group, which is to be dissolved when all else is decided."""
        if group.is_stored:
            decision.record(group_tombstone(group.group_id))

    def dissolve(self, group: ClassicGroup, decision: Decision) -> None:
        """Forget a group that becomes one of the consumer protocol; who waits is to join anew."""
        del self._groups[group.group_id]
        self._rebalances.send_away(group, decision)

    def adopt(self, group: ClassicGroup, decision: Decision, *, rebalance: bool) -> None:
        """Take over a stable group that was one of the consumer protocol.

        With ``rebalance`` somebody left it. Kafka stores nothing of that: where the coordinator
        changes before the rest has joined again, nobody reads what the last one had.
        """
        self._groups[group.group_id] = group
        self._rebalances.store(group, group_record(group, is_led=not rebalance), decision)
        for member in group.members.values():
            self._rebalances.renew_session(group, member, decision.now_ms)
        if rebalance:
            self._rebalances.begin(group, decision)

    def check_join(self, request: JoinGroupRequest) -> None:
        """Refuse what no group takes.

        Raises:
            KafkaError: INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT.
        """
        error = self._joins.error(request)
        if error is not ErrorCode.NONE:
            raise KafkaError(error)

    # What the offsets of groups ask.

    def group_ids(self) -> Iterable[str]:
        """Give every group that has members, or had."""
        return self._groups

    def knows(self, group_id: str) -> bool:
        """Tell whether it is one of them."""
        return group_id in self._groups

    def validate_commit(self, group_id: str, committer: Committer, now_ms: int) -> None:
        """Check who commits; a member that does so is alive.

        Raises:
            KafkaError: ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID,
                REBALANCE_IN_PROGRESS.
        """
        group = self._groups.get(group_id)
        error = _commit_error(group, committer)
        if error is not ErrorCode.NONE:
            raise KafkaError(error)
        member = None if group is None else group.members.get(committer.member_id)
        if group is not None and member is not None and not committer.is_transactional:
            self._rebalances.renew_session(group, member, now_ms)

    def topics_in_use(self, group_id: str) -> Collection[str]:
        """Return the topics whose offsets may not be deleted.

        Raises:
            KafkaError: NON_EMPTY_GROUP, when members are there that are no consumers.
        """
        group = self._groups.get(group_id)
        if group is None or group.is_empty:
            return ()
        if not group.is_consumer:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
        return _AllTopics() if group.subscribed_topics is None else group.subscribed_topics

    def expiry(self, group_id: str) -> ExpiryRule:
        """Return what of a group's offsets may expire.

        Source: ClassicGroup.offsetExpirationCondition, KIP-211, KIP-496.
        """
        group = self._groups.get(group_id)
        if group is None or group.protocol_type is None:
            return ExpiryRule()
        if group.is_empty:
            return ExpiryRule(unused_since_ms=group.state_since_ms)
        if group.is_in(GroupState.STABLE) and group.is_consumer and group.subscribed_topics:
            return ExpiryRule(kept_topics=group.subscribed_topics)
        return ExpiryRule(may_expire=False)

    def offsets_gone(self, group_id: str) -> Sequence[Record]:
        """Forget a group without offsets, if it has no member either; return the tombstones."""
        group = self._groups.get(group_id)
        if group is None or not group.is_empty or group.pending:
            return ()
        return self.delete(group_id)

    def deletion_error(self, group_id: str) -> ErrorCode:
        """Return why a group cannot be deleted; NONE if it can, or only its offsets are there."""
        group = self._groups.get(group_id)
        is_in_use = group is not None and not group.is_empty
        return ErrorCode.NON_EMPTY_GROUP if is_in_use else ErrorCode.NONE

    def delete(self, group_id: str) -> Sequence[Record]:
        """Forget a group without members, and return what the log is to be told of that.

        A group that the log never heard of needs no tombstone. Those with an id that nobody
        joined with are told that they are unknown when they do.
        """
        group = self._groups.pop(group_id, None)
        if group is None:
            return ()
        assert group.is_empty
        self._rebalances.cancel_all(group)
        return [group_tombstone(group_id)] if group.is_stored else []

    def _member_of(self, request: HeartbeatRequest) -> tuple[ErrorCode, ClassicGroup | None]:
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID, None
        group = self._groups.get(request.group_id)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID, None
        error = group.generation_error(
            request.member_id, request.group_instance_id, request.generation_id
        )
        return error, group if error is ErrorCode.NONE else None

    def _sync_error(self, request: SyncGroupRequest, version: int) -> ErrorCode:
        names = (request.protocol_type, request.protocol_name)
        if version >= _PROTOCOLS_SINCE and None in names:
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        group = self._groups.get(request.group_id)
        if group is None or group.is_empty:
            return ErrorCode.UNKNOWN_MEMBER_ID
        error = group.generation_error(
            request.member_id, request.group_instance_id, request.generation_id
        )
        if error is not ErrorCode.NONE:
            return error
        if any(
            said is not None and is_so is not None and said != is_so
            for said, is_so in zip(names, (group.protocol_type, group.protocol_name), strict=True)
        ):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        is_joining = group.is_in(GroupState.PREPARING_REBALANCE)
        return ErrorCode.REBALANCE_IN_PROGRESS if is_joining else ErrorCode.NONE


def _commit_error(group: ClassicGroup | None, committer: Committer) -> ErrorCode:
    """Return why offsets may not be committed; NONE if they may.

    Who is outside of the group, or uses version 0, may commit while nobody is in it. In a
    transaction only what the client says of itself is checked.
    """
    if group is None:
        return ErrorCode.NONE if committer.generation < 0 else ErrorCode.ILLEGAL_GENERATION
    if committer.generation < 0 and group.is_empty:
        return ErrorCode.NONE
    error = ErrorCode.NONE
    if committer.generation >= 0 or committer.member_id or committer.instance_id is not None:
        error = group.generation_error(
            committer.member_id, committer.instance_id, committer.generation
        )
    elif not committer.is_transactional:
        error = ErrorCode.UNKNOWN_MEMBER_ID
    if error is not ErrorCode.NONE or committer.is_transactional:
        return error
    is_unassigned = group.is_in(GroupState.COMPLETING_REBALANCE)
    return ErrorCode.REBALANCE_IN_PROGRESS if is_unassigned else ErrorCode.NONE


def _new_group(group_id: str, wall_ms: int) -> ClassicGroup:
    return ClassicGroup(group_id, state=GroupState.EMPTY, state_since_ms=wall_ms)
