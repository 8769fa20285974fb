"""The groups of the consumer protocol of one shard: what members ask, what is asked about groups.

Offsets are kept elsewhere; this only says who may commit and fetch them.
Source: GroupMetadataManager; ConsumerGroup.validateOffsetCommit and kin; KIP-848, KIP-1251.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from broker.core.coordination import Record
from broker.core.groups.assignors.assignment import Assign
from broker.core.groups.consumer.classic_members import ClassicMembers
from broker.core.groups.consumer.consumer_group import ConsumerGroup
from broker.core.groups.consumer.consumer_heartbeats import (
    ConsumerHeartbeats,
    Heartbeating,
    check_member,
    check_request,
)
from broker.core.groups.consumer.consumer_member import MemberState
from broker.core.groups.consumer.consumer_rebalances import (
    ConsumerRebalances,
    Downgrade,
    TimerKey,
    TimerKind,
)
from broker.core.groups.consumer.group_log import Change, Groups, apply, group_gone
from broker.core.groups.consumer.group_settings import ConsumerGroupSettings, settings_of
from broker.core.groups.consumer.known_topics import KnownTopics
from broker.core.groups.decision import Decision
from broker.core.groups.joins import Joining
from broker.core.groups.membership import ExpiryRule
from protocol.configs.coordination import CoordinationConfig
from protocol.configs.group import GroupConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.consumer_groups import ConsumerGroupHeartbeatResponse
from protocol.messages.groups import JoinGroupResponse


class ConsumerGroups:
    """All groups of the consumer protocol of a shard."""

    __slots__ = (
        "_assignors",
        "_config",
        "_group_config",
        "_groups",
        "classic_members",
        "heartbeats",
        "rebalances",
        "topics",
    )

    def __init__(
        self,
        config: CoordinationConfig,
        topics: KnownTopics,
        assignors: Mapping[str, Assign],
        downgrade: Downgrade,
        group_config: Callable[[str], GroupConfig],
    ) -> None:
        """Begin without a group.

        Args:
            config: the broker's.
            topics: those of the cluster.
            assignors: all that there are, by name.
            downgrade: makes a group a classic one, where only such members remain.
            group_config: gives what a group is configured to, now.
        """
        self._config = config
        self._assignors = {name: assignors[name] for name in config.group_consumer_assignors}
        self._groups: Groups = {}
        self._group_config = group_config
        self.topics = topics
        self.rebalances = ConsumerRebalances(self._groups, topics, self._assignors, downgrade)
        self.heartbeats = ConsumerHeartbeats(self.rebalances)
        self.classic_members = ClassicMembers(self.rebalances, self.heartbeats, config)

    # What there is.

    @property
    def groups(self) -> Sequence[ConsumerGroup]:
        """All groups, in the order in which they came."""
        return list(self._groups.values())

    def get(self, group_id: str) -> ConsumerGroup | None:
        """Return a group; None for one that is not there, or is of another protocol."""
        return self._groups.get(group_id)

    @property
    def default_assignor(self) -> str:
        """The one of members that ask for none."""
        return next(iter(self._assignors))

    # The log, and time.

    def replay(self, key: Any, value: Any) -> None:
        """Take over a record of the log."""
        apply(self._groups, Change(key, value))

    def loaded(self, now_ms: int) -> None:
        """Let sessions begin again, and let who gives partitions back do so."""
        for group in self._groups.values():
            self._time_members(group, now_ms)

    def _time_members(self, group: ConsumerGroup, now_ms: int) -> None:
        for member in group.members.values():
            timeout_ms = self._settings_of(group.group_id).session_timeout_ms
            if member.classic is not None:
                timeout_ms = member.classic.session_timeout_ms
            self.rebalances.time_session(group.group_id, member.member_id, timeout_ms, now_ms)
            self.rebalances.time_revocation(group, member, now_ms)

    def next_due_ms(self) -> int | None:
        """Return when ``take_due`` has something."""
        return self.rebalances.timers.next_due_ms()

    def take_due(self, now_ms: int) -> tuple[ConsumerGroup, str] | None:
        """Take one timer off that is due; return the group and the member that it removes."""
        while (key := self.rebalances.timers.take_due(now_ms)) is not None:
            group = self._groups.get(key.group_id)
            if group is not None and _ends_membership(group, key):
                return group, key.member_id
        return None

    # What members ask.

    def check_request(self, heartbeating: Heartbeating) -> None:
        """Refuse what no group would take.

        Raises:
            KafkaError: INVALID_REQUEST, UNSUPPORTED_ASSIGNOR.
        """
        check_request(heartbeating, self._assignors, ", ".join(self._assignors))

    def check_member(self, group: ConsumerGroup, heartbeating: Heartbeating) -> None:
        """Refuse what this group, which may be a new one, does not take.

        Raises:
            KafkaError: why.
        """
        size_max = self._config.group_consumer_max_size
        check_member(group, heartbeating, size_max=size_max)

    def beat(
        self, heartbeating: Heartbeating, decision: Decision
    ) -> ConsumerGroupHeartbeatResponse:
        """Take over what a member says that was checked; a new group begins."""
        group_id = heartbeating.request.group_id
        group = self._groups.get(group_id)
        if group is None:
            decision.changes(partial(self._groups.pop, group_id))
            group = self._groups[group_id] = ConsumerGroup(group_id)
        return self.heartbeats.beat(group, heartbeating, self._settings_of(group_id), decision)

    def revert(self, heartbeating: Heartbeating, decision: Decision) -> None:
        """Take back what a heartbeat changed, but that its member is alive."""
        decision.revert()
        group = self._groups.get(heartbeating.request.group_id)
        if group is None:
            return
        group.forget_topics()
        member = group.members.get(heartbeating.member_id)
        if member is not None and member.classic is None:
            timeout_ms = self._settings_of(group.group_id).session_timeout_ms
            self.rebalances.time_session(
                group.group_id, member.member_id, timeout_ms, decision.now_ms
            )

    def join(self, group: ConsumerGroup, joining: Joining, decision: Decision) -> JoinGroupResponse:
        """Take in a member that speaks the classic protocol.

        Raises:
            KafkaError: why it is refused.
        """
        settings = self._settings_of(group.group_id)
        return self.classic_members.join(group, joining, settings, decision)

    def write_upgraded(self, group_id: str, changes: Sequence[Change], decision: Decision) -> None:
        """Take over what a classic group becomes; its members' sessions begin."""
        self.rebalances.write(changes, decision)
        self._time_members(self._groups[group_id], decision.now_ms)

    def remove(self, group: ConsumerGroup, decision: Decision) -> None:
        """Forget a group that becomes a classic one, with its members."""
        for member_id in group.members:
            self.rebalances.cancel(group.group_id, member_id)
        self.rebalances.write(group_gone(group), decision)

    # What the offsets of groups ask.

    def expiry(self, group: ConsumerGroup) -> ExpiryRule:
        """Return what of a group's offsets may expire: those of topics that nobody reads."""
        return ExpiryRule(kept_topics=group.topics())

    def delete(self, group: ConsumerGroup) -> Sequence[Record]:
        """Forget a group without members, and return the tombstones."""
        assert group.is_empty
        changes = group_gone(group)
        for change in changes:
            apply(self._groups, change)
        return [change.record() for change in changes]

    def _settings_of(self, group_id: str) -> ConsumerGroupSettings:
        return settings_of(self._group_config(group_id))


def existing(group: ConsumerGroup | None, group_id: str) -> ConsumerGroup:
    """Return the group.

    Raises:
        KafkaError: GROUP_ID_NOT_FOUND, there is none.
    """
    if group is None:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")
    return group


def _ends_membership(group: ConsumerGroup, key: TimerKey) -> bool:
    """Tell whether a timer that is due removes its member."""
    member = group.members.get(key.member_id)
    if member is None:
        return False
    is_revocation = key.kind is TimerKind.REBALANCE
    return not is_revocation or member.state is MemberState.UNREVOKED_PARTITIONS
