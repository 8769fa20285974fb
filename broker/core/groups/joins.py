"""Who may join a classic group, and what that does to the group.

Source: GroupMetadataManager (classicGroupJoin and what it calls), KIP-345, KIP-394, KIP-814.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from broker.core.coordination import Waiter
from broker.core.groups.classic_group import ClassicGroup, GroupState, Member, Protocols
from broker.core.groups.decision import Decision
from broker.core.groups.group_metadata import group_record
from broker.core.groups.rebalances import (
    NEW_MEMBER_JOIN_TIMEOUT_MS,
    Rebalances,
    join_refused,
    joined,
)
from protocol.configs.coordination import CoordinationConfig
from protocol.errors import ErrorCode
from protocol.messages.groups import JoinGroupRequest, JoinGroupResponse

_REBALANCE_TIMEOUT_SINCE: Final = 1
MEMBER_ID_REQUIRED_SINCE: Final = 4
_SKIP_ASSIGNMENT_SINCE: Final = 9


class Joining(NamedTuple):
    """One JoinGroup, and what is known of who sent it."""

    waiter: Waiter
    request: JoinGroupRequest
    version: int
    client_id: str
    client_host: str
    unique: str
    """Never given before; part of the member id, if this one gets a new one."""

    @property
    def new_member_id(self) -> str:
        """The id for one that has none."""
        return f"{self.request.group_instance_id or self.client_id}-{self.unique}"

    @property
    def protocols(self) -> Protocols:
        """What it says, as bytes of its own: the request's are part of a larger frame."""
        return [(protocol.name, bytes(protocol.metadata)) for protocol in self.request.protocols]

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long the others are to wait for it."""
        if self.version < _REBALANCE_TIMEOUT_SINCE:
            return self.request.session_timeout_ms
        return self.request.rebalance_timeout_ms


class Joins:
    """Takes members into groups."""

    __slots__ = ("_config", "_rebalances")

    def __init__(self, rebalances: Rebalances, config: CoordinationConfig) -> None:
        self._rebalances = rebalances
        self._config = config

    def error(self, request: JoinGroupRequest) -> ErrorCode:
        """Return why nobody may join like this; NONE if they may."""
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        low = self._config.group_min_session_timeout_ms
        high = self._config.group_max_session_timeout_ms
        if not low <= request.session_timeout_ms <= high:
            return ErrorCode.INVALID_SESSION_TIMEOUT
        return ErrorCode.NONE

    def join(self, group: ClassicGroup, joining: Joining, decision: Decision) -> None:
        """Take a member in, or have it wait, or refuse it."""
        request = joining.request
        member_id = request.member_id
        if not self._has_room(group, member_id):
            self._rebalances.remove(group, member_id, decision)
            refused = join_refused(ErrorCode.GROUP_MAX_SIZE_REACHED)
            decision.answer(joining.waiter, refused)
            self._rebalances.complete_if_all_joined(group, decision)
        elif not group.supports(request.protocol_type, [row.name for row in request.protocols]):
            refused = join_refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id)
            decision.answer(joining.waiter, refused)
        elif member_id:
            self._join_with_id(group, joining, decision)
        else:
            self._join_without_id(group, joining, decision)

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        """Tell whether the group takes one more.

        In a rebalance those count that joined again, so that the last ones of a group that is too
        large find no room. Source: GroupMetadataManager.acceptJoiningMember.
        """
        if group.is_in(GroupState.EMPTY):
            return True
        if group.is_in(GroupState.PREPARING_REBALANCE):
            is_known, count = member_id in group.join_waiters, len(group.join_waiters)
        else:
            is_known, count = member_id in group.members, len(group.members)
        return is_known or count < self._config.group_max_size

    def _join_without_id(self, group: ClassicGroup, joining: Joining, decision: Decision) -> None:
        request = joining.request
        if request.group_instance_id is not None:
            known_id = group.instances.get(request.group_instance_id)
            if known_id is None:
                self._add(group, joining, joining.new_member_id, decision)
            else:
                self._replace(group, joining, known_id, decision)
        elif joining.version >= MEMBER_ID_REQUIRED_SINCE:
            member_id = joining.new_member_id
            group.pending[member_id] = None
            self._rebalances.set_session(
                group, member_id, request.session_timeout_ms, decision.now_ms
            )
            asked = join_refused(ErrorCode.MEMBER_ID_REQUIRED, member_id)
            decision.answer(joining.waiter, asked)
        else:
            self._add(group, joining, joining.new_member_id, decision)

    def _join_with_id(self, group: ClassicGroup, joining: Joining, decision: Decision) -> None:
        member_id = joining.request.member_id
        instance_id = joining.request.group_instance_id
        if member_id in group.pending and instance_id is None:
            self._add(group, joining, member_id, decision)
            return
        error = group.member_error(member_id, instance_id)
        if error is not ErrorCode.NONE:
            decision.answer(joining.waiter, join_refused(error, member_id))
        elif self._is_told_again(group, joining):
            decision.answer(joining.waiter, joined(group, member_id))
        else:
            self._wait(group, group.members[member_id], joining, decision)
            self._rebalances.begin_or_complete(group, decision)

    def _is_told_again(self, group: ClassicGroup, joining: Joining) -> bool:
        """Tell whether nothing changed: the answer was lost, or a follower looks again.

        A leader of a stable group that joins wants a rebalance: topics may have changed.
        """
        member_id = joining.request.member_id
        if group.members[member_id].protocols != joining.protocols:
            return False
        if group.is_in(GroupState.STABLE):
            return member_id != group.leader_id
        return group.is_in(GroupState.COMPLETING_REBALANCE)

    def _add(
        self, group: ClassicGroup, joining: Joining, member_id: str, decision: Decision
    ) -> None:
        request = joining.request
        member = Member(
            member_id=member_id,
            instance_id=request.group_instance_id,
            client_id=joining.client_id,
            client_host=joining.client_host,
            session_timeout_ms=request.session_timeout_ms,
            rebalance_timeout_ms=joining.rebalance_timeout_ms,
            protocols=joining.protocols,
            is_new=True,
        )
        group.has_new_member = group.is_initial_rebalance
        group.add(member, request.protocol_type)
        group.join_waiters[member_id] = joining.waiter
        self._rebalances.set_session(group, member_id, NEW_MEMBER_JOIN_TIMEOUT_MS, decision.now_ms)
        self._rebalances.begin_or_complete(group, decision)

    def _wait(
        self, group: ClassicGroup, member: Member, joining: Joining, decision: Decision
    ) -> None:
        """Have a member wait for the others, with what it says now.

        One that asks twice is answered once to each: Kafka forgets the first one.
        """
        group.change(member, protocols=joining.protocols)
        member.session_timeout_ms = joining.request.session_timeout_ms
        member.rebalance_timeout_ms = joining.rebalance_timeout_ms
        earlier = group.join_waiters.pop(member.member_id, None)
        again = join_refused(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)
        decision.answer(earlier, again)
        group.join_waiters[member.member_id] = joining.waiter

    def _replace(
        self, group: ClassicGroup, joining: Joining, known_id: str, decision: Decision
    ) -> None:
        """A static member came back without its id: it gets a new one, and the old one is fenced.

        It goes on with its assignment, without a rebalance, unless the protocol changes by it.
        """
        led_by = group.leader_id
        self._rebalances.fence(group, known_id, decision)
        member = group.members[known_id]
        group.replace_id(member, joining.new_member_id)
        self._wait(group, member, joining, decision)
        self._rebalances.renew_session(group, member, decision.now_ms)
        if not group.is_in(GroupState.STABLE):
            self._go_on_with_replaced(group, decision)
            return
        record = group_record(group)
        if group.selected_protocol() != group.protocol_name or not self._rebalances.fits(record):
            self._rebalances.begin(group, decision)
            return
        self._rebalances.store(group, record, decision)
        del group.join_waiters[member.member_id]
        decision.answer(joining.waiter, _back(group, member, joining, led_by))

    def _go_on_with_replaced(self, group: ClassicGroup, decision: Decision) -> None:
        if group.is_in(GroupState.COMPLETING_REBALANCE):
            # The leader may have been told the old id already, and would assign to nobody.
            self._rebalances.begin(group, decision)
        else:
            self._rebalances.complete_if_all_joined(group, decision)


def _back(
    group: ClassicGroup, member: Member, joining: Joining, led_by: str | None
) -> JoinGroupResponse:
    """Return what a static member that came back is told; a leader must not assign anew.

    Before version 9 it is told that its old id leads, so that it takes itself for a follower.
    """
    is_leader = group.leader_id == member.member_id
    if joining.version >= _SKIP_ASSIGNMENT_SINCE:
        return joined(group, member.member_id, skip_assignment=is_leader)
    return joined(group, member.member_id, leader=led_by)
