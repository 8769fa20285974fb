"""One group of the classic protocol: its state, its members, the protocol that they choose.

It has no timers and answers nobody; ``rebalances`` does. Source: ClassicGroup, ClassicGroupMember.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from broker.core.coordination import Waiter
from broker.core.groups.subscription import subscribed_topics
from protocol.errors import ErrorCode

CONSUMER: Final = "consumer"
"""The protocol type of consumers, whose subscriptions the broker can read."""
_NO_GENERATION: Final = 0

Protocols: TypeAlias = Sequence[tuple[str, bytes]]
"""Names with what the member says under each, as it prefers them."""


class GroupState(Enum):
    """Where a classic group is; the values are Kafka's words. Source: ClassicGroupState."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"
    """Only told, of groups that are not there."""


_MOVES: Final = {
    GroupState.EMPTY: (GroupState.PREPARING_REBALANCE,),
    GroupState.PREPARING_REBALANCE: (GroupState.COMPLETING_REBALANCE, GroupState.EMPTY),
    GroupState.COMPLETING_REBALANCE: (GroupState.STABLE, GroupState.PREPARING_REBALANCE),
    GroupState.STABLE: (GroupState.PREPARING_REBALANCE,),
    GroupState.DEAD: (),
}


@dataclass(slots=True, kw_only=True)
class Member:
    """One member of a group."""

    member_id: str
    instance_id: str | None
    """Set for a static member."""
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: Protocols
    assignment: bytes = b""
    is_new: bool = False
    """It was not told its id yet, so that it cannot heartbeat."""

    def metadata(self, protocol_name: str | None) -> bytes:
        """Return what it says under a protocol; empty if it does not know it."""
        return next((said for name, said in self.protocols if name == protocol_name), b"")


class ClassicGroup:
    """Members by id, in the order in which they came."""

    __slots__ = (
        "_supporters",
        "generation",
        "group_id",
        "has_new_member",
        "initial_delay_ms",
        "instances",
        "is_stored",
        "join_waiters",
        "leader_id",
        "members",
        "pending",
        "previous_state",
        "protocol_name",
        "protocol_type",
        "remaining_delay_ms",
        "state",
        "state_since_ms",
        "subscribed_topics",
        "sync_waiters",
        "unsynced",
    )

    def __init__(self, group_id: str, *, state: GroupState, state_since_ms: int | None) -> None:
        self.group_id = group_id
        self.state = state
        self.previous_state = GroupState.DEAD
        self.state_since_ms = state_since_ms
        """By the wall clock; None when the log does not tell."""
        self.protocol_type: str | None = None
        """None for offsets without members: a simple group."""
        self.protocol_name: str | None = None
        self.generation = _NO_GENERATION
        self.leader_id: str | None = None
        self.members: dict[str, Member] = {}
        self.instances: dict[str, str] = {}
        """Member ids by the instance ids of static members."""
        self.pending: dict[str, None] = {}
        """Ids that were given out and did not join with yet."""
        self.join_waiters: dict[str, Waiter] = {}
        """Who waits for the end of the join phase, by member id."""
        self.sync_waiters: dict[str, Waiter] = {}
        """Who waits for the leader's assignment, by member id."""
        self.unsynced: dict[str, None] = {}
        """Members of this generation that did not ask for their assignment yet."""
        self.subscribed_topics: frozenset[str] | None = frozenset()
        """None when they cannot be told."""
        self.has_new_member = False
        """Somebody came while the first rebalance waits for more."""
        self.initial_delay_ms = 0
        self.remaining_delay_ms = 0
        self.is_stored = False
        """Whether the log has a record of it."""
        self._supporters: dict[str, int] = {}

    def move_to(self, state: GroupState, wall_ms: int) -> None:
        """Change the state."""
        assert state in _MOVES[self.state], f"group {self.group_id!r}: {self.state} -> {state}"
        self.previous_state, self.state = self.state, state
        self.state_since_ms = wall_ms

    def is_in(self, *states: GroupState) -> bool:
        """Tell whether the group is in one of ``states``."""
        return self.state in states

    @property
    def is_empty(self) -> bool:
        """Whether it has no members; somebody may have been given an id to join with."""
        return self.state is GroupState.EMPTY

    @property
    def is_consumer(self) -> bool:
        """Whether its members are consumers, which say what they subscribe to."""
        return self.protocol_type == CONSUMER

    @property
    def is_initial_rebalance(self) -> bool:
        """Whether it had no members before this rebalance."""
        return (
            self.state is GroupState.PREPARING_REBALANCE and self.previous_state is GroupState.EMPTY
        )

    @property
    def have_all_joined(self) -> bool:
        """Whether every member, and everybody with an id to join with, waits for the others."""
        return len(self.join_waiters) == len(self.members) and not self.pending

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest that a member asks for."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def add(self, member: Member, protocol_type: str) -> None:
        """Take a member in that says what all say the group is; the first one leads it."""
        assert member.member_id not in self.members
        self.protocol_type = protocol_type
        self.leader_id = self.leader_id or member.member_id
        self.members[member.member_id] = member
        self._count(member, 1)
        if member.instance_id is not None:
            assert member.instance_id not in self.instances
            self.instances[member.instance_id] = member.member_id
        self.pending.pop(member.member_id, None)

    def remove(self, member_id: str) -> None:
        """Forget a member or an id that nobody joined with; who waits was answered before."""
        assert member_id not in self.join_waiters
        assert member_id not in self.sync_waiters
        self.pending.pop(member_id, None)
        self.unsynced.pop(member_id, None)
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self._count(member, -1)
        if member.instance_id is not None:
            del self.instances[member.instance_id]
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)

    def change(self, member: Member, *, protocols: Protocols) -> None:
        """Let a member say something else."""
        self._count(member, -1)
        member.protocols = protocols
        self._count(member, 1)

    def replace_id(self, member: Member, member_id: str) -> None:
        """Give a static member another id; all else stays, and who waited was answered before."""
        assert member.instance_id is not None
        assert self.protocol_type is not None
        was_leader = self.leader_id == member.member_id
        self.remove(member.member_id)
        member.member_id = member_id
        member.is_new = False
        self.add(member, self.protocol_type)
        if was_leader:
            self.leader_id = member_id

    def elect_joined_leader(self) -> bool:
        """Make one who joined the leader, unless it is; tell whether there is one."""
        if self.leader_id not in self.join_waiters:
            self.leader_id = next(iter(self.join_waiters), self.leader_id)
        return self.leader_id in self.join_waiters

    def begin_generation(self, wall_ms: int) -> None:
        """End the join phase."""
        self.generation += 1
        self.protocol_name = self.selected_protocol() if self.members else None
        self.subscribed_topics = self.read_subscribed_topics()
        self.unsynced = dict.fromkeys(self.members)
        self.move_to(GroupState.COMPLETING_REBALANCE if self.members else GroupState.EMPTY, wall_ms)

    def selected_protocol(self) -> str:
        """Return the protocol with the most votes among those that all members know.

        Each member votes for the one that it prefers. Source: ClassicGroup.selectProtocol.
        """
        candidates = {name for name, count in self._supporters.items() if self._is_all(count)}
        votes = Counter(
            next(name for name, _ in member.protocols if name in candidates)
            for member in self.members.values()
        )
        return max(votes, key=votes.__getitem__)

    def supports(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Tell whether somebody with these protocols can be a member."""
        if self.is_empty:
            return bool(protocol_type) and any(True for _ in names)
        return self.protocol_type == protocol_type and any(
            self._is_all(self._supporters.get(name, 0)) for name in names
        )

    def read_subscribed_topics(self) -> frozenset[str] | None:
        """Return what all members subscribe to together; None when that cannot be told."""
        if not self.is_consumer:
            return None
        if not self.members:
            return frozenset()
        if self.protocol_name is None:
            return None
        return subscribed_topics(
            member.metadata(self.protocol_name) for member in self.members.values()
        )

    def member_error(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """Return why a request is not from a member; NONE if it is."""
        if instance_id is not None:
            known = self.instances.get(instance_id)
            if known is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if known != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def generation_error(
        self, member_id: str, instance_id: str | None, generation: int
    ) -> ErrorCode:
        """Return why a request is not from a member of this generation; NONE if it is."""
        error = self.member_error(member_id, instance_id)
        if error is ErrorCode.NONE and generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        return error

    def _is_all(self, count: int) -> bool:
        return count == len(self.members)

    def _count(self, member: Member, by: int) -> None:
        for name in dict.fromkeys(name for name, _ in member.protocols):
            count = self._supporters.get(name, 0) + by
            if count:
                self._supporters[name] = count
            else:
                self._supporters.pop(name, None)
