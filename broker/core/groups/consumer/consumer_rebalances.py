"""Epochs, targets and timers of groups of the consumer protocol.

Who may join is decided elsewhere. Every member has a session, and who gives partitions back has a
second timer. Source: GroupMetadataManager (updateSubscriptionMetadata, maybeUpdateTargetAssignment,
maybeReconcile, consumerGroupFenceMembers), TargetAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import NamedTuple, TypeAlias

from broker.core.groups.assignors.assignment import Assign, MemberSubscription, still_there
from broker.core.groups.consumer.consumer_group import NEVER_ASSIGNED_MS, ConsumerGroup
from broker.core.groups.consumer.consumer_member import ConsumerMember, MemberState
from broker.core.groups.consumer.group_log import (
    Change,
    Groups,
    apply,
    current_change,
    epoch_change,
    member_gone,
    partition_metadata_gone,
    regex_change,
    target_change,
    target_metadata_change,
)
from broker.core.groups.consumer.known_topics import KnownTopics
from broker.core.groups.consumer.reconciliation import Owned, Towards, reconciled
from broker.core.groups.consumer.reverts import revert_of
from broker.core.groups.decision import Decision
from broker.core.timers import Timers
from protocol.messages.consumer_group_records import ConsumerGroupCurrentMemberAssignmentKey


class TimerKind(Enum):
    """What a timer of a member ends; each ends its membership, too."""

    SESSION = "session"
    REBALANCE = "rebalance"
    """It has partitions to give back."""
    JOIN = "join"
    """It speaks the classic protocol and is to join again."""
    SYNC = "sync"
    """It speaks the classic protocol and is to ask for its assignment."""


class TimerKey(NamedTuple):
    """Names a timer."""

    kind: TimerKind
    group_id: str
    member_id: str


Downgrade: TypeAlias = Callable[[ConsumerGroup, Sequence[str], Decision], bool]
"""Makes a group without these members a classic one, if it has to be; tells whether it did."""


class ConsumerRebalances:
    """Moves groups from epoch to epoch, and members to their targets."""

    __slots__ = ("_assignors", "_downgrade", "groups", "timers", "topics")

    def __init__(
        self,
        groups: Groups,
        topics: KnownTopics,
        assignors: Mapping[str, Assign],
        downgrade: Downgrade,
    ) -> None:
        """Work on ``groups``; the first of ``assignors`` is taken where no member names one."""
        self._downgrade = downgrade
        self.groups = groups
        self.timers: Timers[TimerKey] = Timers()
        self.topics = topics
        self._assignors = assignors

    def write(self, changes: Iterable[Change], decision: Decision) -> None:
        """Make changes, and have the log know them.

        Whose timers change, has another current assignment, and that is written before.
        """
        for change in changes:
            decision.changes(revert_of(self.groups, change))
            if isinstance(change.key, ConsumerGroupCurrentMemberAssignmentKey):
                timers = self._timers_of(change.key.group_id, change.key.member_id)
                decision.changes(partial(self._put_timers, timers))
            apply(self.groups, change)
            decision.record(change.record())

    # Epochs and targets.

    def begin_epoch_if_due(
        self, group: ConsumerGroup, decision: Decision, *, subscription_changed: bool
    ) -> None:
        """Begin a group epoch where the members read other topics, or these changed."""
        if not subscription_changed and group.seen_generation == self.topics.generation:
            return
        hashed = self.topics.hash_of(group.topics())
        if subscription_changed or hashed != group.metadata_hash:
            self.write([epoch_change(group.group_id, group.epoch + 1, hashed)], decision)
        group.seen_generation = self.topics.generation
        if group.has_partition_metadata_record:
            self.write([partition_metadata_gone(group.group_id)], decision)

    def assign_if_due(self, group: ConsumerGroup, decision: Decision, *, interval_ms: int) -> None:
        """Compute targets for the group epoch, if they are older and the last are old enough.

        Those of the future are of a coordinator whose clock was ahead: nobody waits until the clock
        here has come so far, as with Apache Kafka.
        """
        if group.assignment_epoch >= group.epoch:
            return
        is_first = group.assignment_ms == NEVER_ASSIGNED_MS
        if not is_first and 0 <= decision.wall_ms - group.assignment_ms < interval_ms:
            return
        group_id, targets = group.group_id, self._targets(group)
        changes = [
            target_change(group_id, member_id, target)
            for member_id, target in targets.items()
            if group.targets.get(member_id) != target
        ]
        changes.append(target_metadata_change(group_id, group.epoch, decision.wall_ms))
        self.write(changes, decision)

    def _targets(self, group: ConsumerGroup) -> Mapping[str, Mapping[bytes, tuple[int, ...]]]:
        counts = self.topics.partition_counts(group.topics())
        default = next(iter(self._assignors.values()))
        assign = self._assignors.get(group.preferred_assignor() or "", default)
        ids: dict[frozenset[str], frozenset[bytes]] = {}
        members: dict[str, MemberSubscription] = {}
        for member_id, member in group.members.items():
            names = group.topics_of(member)
            if names not in ids:
                ids[names] = self.topics.ids(names)
            members[member_id] = MemberSubscription(
                topics=ids[names],
                rack=member.rack_id,
                instance_id=member.instance_id,
                current_partitions=still_there(group.targets.get(member_id, {}), counts),
            )
        return assign(members, counts, group.subscription_type())

    def reconcile(
        self,
        group: ConsumerGroup,
        member: ConsumerMember,
        owned: Owned,
        decision: Decision,
        *,
        subscription_changed: bool,
    ) -> ConsumerMember:
        """Bring a member a step closer to its target, and return it."""
        if not subscription_changed and member.is_reconciled_to(group.assignment_epoch):
            return member
        towards = Towards(
            epoch=group.assignment_epoch,
            target=group.targets.get(member.member_id, {}),
            subscribed_ids=self.topics.ids(group.topics_of(member)),
            is_owned=group.is_owned,
        )
        updated = reconciled(member, towards, owned, subscription_changed=subscription_changed)
        if updated == member:
            return member
        self.write([current_change(group.group_id, updated)], decision)
        if updated.classic is None:
            self.time_revocation(group, updated, decision.now_ms)
        return updated

    # Members that go.

    def fence(self, group: ConsumerGroup, member_ids: Sequence[str], decision: Decision) -> None:
        """Remove members, and begin an epoch without them; the rest may become a classic group."""
        if self._downgrade(group, member_ids, decision):
            return
        group_id = group.group_id
        regexes = dict.fromkeys(group.members[member_id].regex for member_id in member_ids)
        for member_id in member_ids:
            self.write(member_gone(group_id, member_id), decision)
            self.cancel(group_id, member_id)
        self.forget_regexes(group, regexes, decision)
        hashed = self.topics.hash_of(group.topics())
        self.write([epoch_change(group_id, group.epoch + 1, hashed)], decision)

    def downgrade_if_due(self, group: ConsumerGroup, decision: Decision) -> None:
        """Somebody was replaced: the group may be a classic one now."""
        self._downgrade(group, (), decision)

    def forget_regexes(
        self, group: ConsumerGroup, regexes: Iterable[str | None], decision: Decision
    ) -> None:
        """Forget those of ``regexes`` that nobody subscribes to any more; "" and None are none."""
        for regex in regexes:
            if regex and regex not in group.regex_subscribers:
                self.write([regex_change(group.group_id, regex, None)], decision)

    # Time.

    def time_session(self, group_id: str, member_id: str, timeout_ms: int, now_ms: int) -> None:
        """A member was heard of."""
        self.timers.set(TimerKey(TimerKind.SESSION, group_id, member_id), now_ms + timeout_ms)

    def time_revocation(self, group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> None:
        """Give a member so long to give back what it has to; nothing if there is nothing."""
        key = TimerKey(TimerKind.REBALANCE, group.group_id, member.member_id)
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            self.timers.set(key, now_ms + member.rebalance_timeout_ms)
        else:
            self.timers.cancel(key)

    def cancel(self, group_id: str, member_id: str) -> None:
        """A member is no more."""
        for kind in TimerKind:
            self.timers.cancel(TimerKey(kind, group_id, member_id))

    def _timers_of(self, group_id: str, member_id: str) -> dict[TimerKey, int | None]:
        keys = [TimerKey(kind, group_id, member_id) for kind in TimerKind]
        return {key: self.timers.due_ms(key) for key in keys}

    def _put_timers(self, timers: Mapping[TimerKey, int | None]) -> None:
        for key, due_ms in timers.items():
            if due_ms is None:
                self.timers.cancel(key)
            else:
                self.timers.set(key, due_ms)
