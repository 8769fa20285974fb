"""Whatever members, clocks and brokers do, nobody waits forever or shares a partition."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from broker.core.groups.classic_group import ClassicGroup, GroupState
from broker.core.groups.rebalances import NEW_MEMBER_JOIN_TIMEOUT_MS, TimerKey, TimerKind
from protocol.errors import ErrorCode
from protocol.messages.groups import SyncGroupResponse
from tests.broker.core.groups.lab import GROUP, REBALANCE_MS, SESSION_MS, Lab

PARTITIONS = range(5)
INSTANCES = st.sampled_from([None, None, "kitchen", "cellar"])
SAID = st.sampled_from([b"one", b"other"])


class GroupStory(RuleBasedStateMachine):
    """Members join, sync, leave and fall silent; the group is loaded by another broker."""

    def __init__(self) -> None:
        super().__init__()
        self.lab = Lab(group_max_size=4)
        self.waiting: dict[int, str | None] = {}
        """Who asked something that may take long; by waiter, the member if it syncs."""
        self.owners: dict[tuple[int, int], str] = {}
        """The owner of each partition, by generation and partition."""

    @initialize(instances=st.lists(INSTANCES, min_size=3, max_size=3))
    def some_are_there(self, instances: list[str | None]) -> None:
        for instance_id in instances:
            self.come(instance_id, 3, b"one")
        self.time_passes(3_000)
        self.time_passes(3_000)

    # What members do.

    @rule(instance_id=INSTANCES, version=st.sampled_from([3, 4, 9]), said=SAID)
    def come(self, instance_id: str | None, version: int, said: bytes) -> None:
        waiter = self.lab.join(instance_id=instance_id, version=version, protocols={"range": said})
        self.asked(waiter)

    @rule(at=st.integers(0, 5), said=SAID)
    def join_with_an_id(self, at: int, said: bytes) -> None:
        group = self.lab.groups.get(GROUP)
        if group is None:
            return
        ids = [*group.members, *group.pending]
        if not ids:
            return
        member_id = ids[at % len(ids)]
        member = group.members.get(member_id)
        self.asked(
            self.lab.join(
                member_id,
                instance_id=None if member is None else member.instance_id,
                protocols={"range": said},
            )
        )

    @rule(at=st.integers(0, 5), first=st.integers(0, 3))
    def sync(self, at: int, first: int) -> None:
        group = self.lab.groups.get(GROUP)
        if group is None or not group.members:
            return
        ids = list(group.members)
        member = group.members[ids[at % len(ids)]]
        given: dict[str, bytes] = dict.fromkeys(ids, b"")
        for partition in PARTITIONS:
            given[ids[(first + partition) % len(ids)]] += bytes([partition])
        waiter = self.lab.sync(
            member.member_id, given if member.member_id == group.leader_id else None
        )
        self.asked(waiter, member.instance_id or member.member_id)

    @rule(said=SAID)
    def all_join(self, said: bytes) -> None:
        group = self.lab.groups.get(GROUP)
        for at in range(0 if group is None else len(group.members)):
            self.join_with_an_id(at, said)
        self.time_passes(3_000)

    @rule(first=st.integers(0, 3))
    def followers_sync(self, first: int) -> None:
        group = self.lab.groups.get(GROUP)
        ids = [] if group is None else list(group.members)
        for at, member_id in enumerate(ids):
            if group is not None and member_id != group.leader_id:
                self.sync(at, first)

    @rule(at=st.integers(0, 5))
    def heartbeat(self, at: int) -> None:
        group = self.lab.groups.get(GROUP)
        if group is not None and group.members:
            ids = list(group.members)
            code = self.lab.heartbeat(ids[at % len(ids)])
            assert code in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)

    @rule(at=st.integers(0, 5))
    def leave(self, at: int) -> None:
        group = self.lab.groups.get(GROUP)
        if group is not None and group.members:
            ids = list(group.members)
            assert self.lab.leave(ids[at % len(ids)]) == [ErrorCode.NONE]

    @rule(ms=st.sampled_from([1, 1_000, 3_000, SESSION_MS // 2, SESSION_MS, REBALANCE_MS]))
    def time_passes(self, ms: int) -> None:
        self.lab.later(ms)

    @rule()
    def another_broker_loads_the_group(self) -> None:
        for waiter in list(self.waiting):
            if waiter not in self.lab.told:
                del self.waiting[waiter]  # Whoever runs the shard answers these.
        self.look_at_assignments()
        again = self.lab.reloaded()
        again.told, again.records = self.lab.told, self.lab.records
        again.waiter = self.lab.waiter
        self.lab = again

    def asked(self, waiter: int, owner: str | None = None) -> None:
        self.waiting[waiter] = owner

    # What always holds.

    @invariant()
    def look_at_assignments(self) -> None:
        for waiter, owner in list(self.waiting.items()):
            response = self.lab.told.get(waiter)
            if response is None:
                continue
            del self.waiting[waiter]
            if isinstance(response, SyncGroupResponse) and not response.error_code:
                assert owner is not None
                self.owns(owner, bytes(response.assignment))

    def owns(self, owner: str, partitions: bytes) -> None:
        generation = self.lab.group.generation
        for partition in partitions:
            assert self.owners.setdefault((generation, partition), owner) == owner

    @invariant()
    def who_is_not_told_yet_waits_in_the_group(self) -> None:
        group = self.lab.groups.get(GROUP)
        waits: set[int] = set()
        if group is not None:
            waits = {*group.join_waiters.values(), *group.sync_waiters.values()}
        assert waits == set(self.waiting)

    @invariant()
    def whatever_waits_has_a_timer(self) -> None:
        timers = self.lab.groups._timers  # pyright: ignore[reportPrivateUsage]
        for group in self.lab.groups.groups:
            sessions = {
                member_id
                for member_id in (*group.members, *group.pending)
                if TimerKey(TimerKind.SESSION, GROUP, member_id) in timers
            }
            assert sessions >= _without_waiting(group)
            joins = TimerKey(TimerKind.JOIN, GROUP) in timers
            assert joins == group.is_in(GroupState.PREPARING_REBALANCE)
            assert TimerKey(TimerKind.SYNC, GROUP) in timers or not group.unsynced

    @invariant()
    def the_state_fits_the_members(self) -> None:
        for group in self.lab.groups.groups:
            if group.is_in(GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
                assert group.members
                assert group.leader_id in group.members
                assert not group.join_waiters
            if group.is_empty:
                assert not group.members
                assert group.leader_id is None
            assert group.is_in(GroupState.COMPLETING_REBALANCE) or not group.sync_waiters
            assert set(group.instances.values()) == {
                member_id for member_id, each in group.members.items() if each.instance_id
            }

    def teardown(self) -> None:
        """Once nobody asks anything any more all are answered, and nobody is left."""
        self.lab.later(NEW_MEMBER_JOIN_TIMEOUT_MS + REBALANCE_MS + SESSION_MS)
        self.look_at_assignments()
        assert not self.waiting
        assert all(group.is_empty for group in self.lab.groups.groups)
        assert self.lab.groups.next_due_ms() is None


def _without_waiting(group: ClassicGroup) -> set[str]:
    waiting = {*group.join_waiters, *group.sync_waiters}
    return {*group.members, *group.pending} - waiting
