"""Members that speak the classic protocol in a group of the consumer protocol.

They join, sync, heartbeat and leave as ever, but one by one: who joins waits for nobody, and the
coordinator assigns. A heartbeat tells them when to join again.
Source: GroupMetadataManager.classicGroupJoinToConsumerGroup, classicGroupSyncToConsumerGroup,
classicGroupHeartbeatToConsumerGroup, classicGroupLeaveToConsumerGroup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from broker.core.groups.classic_group import CONSUMER
from broker.core.groups.consumer.consumer_group import ConsumerGroup
from broker.core.groups.consumer.consumer_heartbeats import (
    ConsumerHeartbeats,
    check_room,
    known_static_member,
    unknown_member,
)
from broker.core.groups.consumer.consumer_member import ConsumerMember, MemberState
from broker.core.groups.consumer.consumer_rebalances import ConsumerRebalances, TimerKey, TimerKind
from broker.core.groups.consumer.conversion import DISABLED, classic_metadata, named
from broker.core.groups.consumer.group_log import member_change
from broker.core.groups.consumer.group_settings import ConsumerGroupSettings
from broker.core.groups.consumer.reconciliation import unknown_state_error
from broker.core.groups.decision import Decision
from broker.core.groups.joins import MEMBER_ID_REQUIRED_SINCE, Joining
from broker.core.groups.rebalances import join_refused
from broker.core.groups.subscription import encoded_assignment, subscription_of
from protocol.configs.coordination import CoordinationConfig
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.messages.consumer_groups import TopicPartitions
from protocol.messages.consumer_protocol import ConsumerProtocolSubscription, TopicPartition
from protocol.messages.groups import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

_PROTOCOLS_SINCE: Final = 5
"""From this version on a SyncGroup says what it believes the protocol is (KIP-559)."""


class _Subscribed(NamedTuple):
    """A join that was checked."""

    joining: Joining
    member_id: str
    subscription: ConsumerProtocolSubscription
    owned: Sequence[TopicPartitions]


class ClassicMembers:
    """Serves them."""

    __slots__ = ("_config", "_heartbeats", "_rebalances")

    def __init__(
        self,
        rebalances: ConsumerRebalances,
        heartbeats: ConsumerHeartbeats,
        config: CoordinationConfig,
    ) -> None:
        self._rebalances = rebalances
        self._heartbeats = heartbeats
        self._config = config

    # Joins.

    def join(
        self,
        group: ConsumerGroup,
        joining: Joining,
        settings: ConsumerGroupSettings,
        decision: Decision,
    ) -> JoinGroupResponse:
        """Take a member in, or go on with one, and answer at once.

        Raises:
            KafkaError: INCONSISTENT_GROUP_PROTOCOL, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID,
                FENCED_INSTANCE_ID, FENCED_MEMBER_EPOCH, UNKNOWN_SERVER_ERROR.
        """
        request = joining.request
        member_id = request.member_id or joining.unique
        self._check(group, joining)
        needs_id = joining.version >= MEMBER_ID_REQUIRED_SINCE and not request.member_id
        if needs_id and request.group_instance_id is None:
            return join_refused(ErrorCode.MEMBER_ID_REQUIRED, member_id)
        subscribed = self._subscribed(group, joining, member_id)
        replaced = group.static_member(request.group_instance_id)
        member = self._heartbeats.member_or_new(
            group, member_id, request.group_instance_id, decision
        )
        updated = _updated(member, subscribed)
        if updated != member:
            self._rebalances.write([member_change(group.group_id, updated)], decision)
        was_consumer = replaced is not None and replaced.classic is None
        updated = self._moved_on(group, member, subscribed, settings, decision)
        self._time(group, updated, joining, decision.now_ms)
        joined = _joined(updated)
        if was_consumer:
            # The last one that spoke the consumer protocol may just have been replaced.
            self._rebalances.downgrade_if_due(group, decision)
        return joined

    def _check(self, group: ConsumerGroup, joining: Joining) -> None:
        request = joining.request
        if self._config.group_consumer_migration_policy.lower() == DISABLED:
            raise KafkaError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
                f"Cannot join the consumer group {group.group_id} with the classic protocol"
                " because the group migration is disabled.",
            )
        check_room(group, request.member_id, self._config.group_consumer_max_size)
        names = [row.name for row in request.protocols]
        if request.protocol_type != CONSUMER or not group.supports(names):
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if request.group_instance_id is not None and request.member_id:
            known_static_member(group, request.member_id, request.group_instance_id)

    def _subscribed(self, group: ConsumerGroup, joining: Joining, member_id: str) -> _Subscribed:
        try:
            subscription = subscription_of(joining.protocols[0][1])
        except Malformed as error:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"no subscription: {error}") from error
        ids = ((self._rebalances.topics.topic_id(row.topic), row) for row in _owned(subscription))
        owned = [
            TopicPartitions(topic_id=topic_id, partitions=row.partitions)
            for topic_id, row in ids
            if topic_id is not None
        ]
        known = group.members.get(member_id)
        error = None if known is None else unknown_state_error(known, owned)
        if error is not None:
            raise error
        return _Subscribed(joining, member_id, subscription, owned)

    def _moved_on(
        self,
        group: ConsumerGroup,
        before: ConsumerMember,
        subscribed: _Subscribed,
        settings: ConsumerGroupSettings,
        decision: Decision,
    ) -> ConsumerMember:
        member = group.members[subscribed.member_id]
        changed = member.topics != before.topics or bool(before.regex)
        self._rebalances.forget_regexes(group, [before.regex], decision)
        self._rebalances.begin_epoch_if_due(group, decision, subscription_changed=changed)
        self._rebalances.assign_if_due(group, decision, interval_ms=settings.assignment_interval_ms)
        return self._rebalances.reconcile(
            group, member, subscribed.owned, decision, subscription_changed=changed
        )

    def _time(
        self, group: ConsumerGroup, member: ConsumerMember, joining: Joining, now_ms: int
    ) -> None:
        timers, group_id, member_id = self._rebalances.timers, group.group_id, member.member_id
        timers.cancel(TimerKey(TimerKind.JOIN, group_id, member_id))
        timers.cancel(TimerKey(TimerKind.REBALANCE, group_id, member_id))
        sync = TimerKey(TimerKind.SYNC, group_id, member_id)
        timers.set(sync, now_ms + joining.rebalance_timeout_ms)
        self._renew(group, member, now_ms)

    # Assignments.

    def sync(
        self, group: ConsumerGroup, request: SyncGroupRequest, version: int, decision: Decision
    ) -> SyncGroupResponse:
        """Tell a member what it has.

        Raises:
            KafkaError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION,
                INCONSISTENT_GROUP_PROTOCOL, REBALANCE_IN_PROGRESS.
        """
        names = (request.protocol_type, request.protocol_name)
        if version >= _PROTOCOLS_SINCE and None in names:
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        member = _classic(group, request.member_id, request.group_instance_id)
        _check_generation(member, request.generation_id)
        if any(
            said not in (None, is_so)
            for said, is_so in zip(names, (CONSUMER, _protocol(member)), strict=True)
        ):
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        is_behind = group.assignment_epoch > member.epoch
        if is_behind and member.state is not MemberState.UNREVOKED_PARTITIONS:
            self._time_join(group, member, decision.now_ms)
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
        key = TimerKey(TimerKind.SYNC, group.group_id, member.member_id)
        self._rebalances.timers.cancel(key)
        self._renew(group, member, decision.now_ms)
        has = {topic_id: tuple(held) for topic_id, held in member.assigned.items()}
        return SyncGroupResponse(
            error_code=ErrorCode.NONE,
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=encoded_assignment(
                named(has, self._rebalances.topics), _subscription_version(member)
            ),
        )

    def heartbeat(
        self, group: ConsumerGroup, request: HeartbeatRequest, decision: Decision
    ) -> HeartbeatResponse:
        """Renew a member's session, and tell it whether to join again.

        Raises:
            KafkaError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION.
        """
        member = _classic(group, request.member_id, request.group_instance_id)
        _check_generation(member, request.generation_id)
        self._renew(group, member, decision.now_ms)
        if not _has_to_join(group, member):
            return HeartbeatResponse(error_code=ErrorCode.NONE)
        self._time_join(group, member, decision.now_ms)
        return HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)

    def leave(
        self, group: ConsumerGroup, request: LeaveGroupRequest, decision: Decision
    ) -> LeaveGroupResponse:
        """Let members go, whichever protocol they speak."""
        found: dict[str, None] = {}
        rows: list[MemberResponse] = []
        for identity in request.members:
            error = ErrorCode.NONE
            try:
                found[_leaving(group, identity).member_id] = None
            except KafkaError as refused:
                error = refused.code
            rows.append(
                MemberResponse(
                    member_id=identity.member_id,
                    group_instance_id=identity.group_instance_id,
                    error_code=error,
                )
            )
        if found:
            self._rebalances.fence(group, list(found), decision)
        return LeaveGroupResponse(error_code=ErrorCode.NONE, members=rows)

    # Time.

    def _renew(self, group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> None:
        assert member.classic is not None
        timeout_ms = member.classic.session_timeout_ms
        self._rebalances.time_session(group.group_id, member.member_id, timeout_ms, now_ms)

    def _time_join(self, group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> None:
        key = TimerKey(TimerKind.JOIN, group.group_id, member.member_id)
        if key not in self._rebalances.timers:
            self._rebalances.timers.set(key, now_ms + member.rebalance_timeout_ms)


def _owned(subscription: ConsumerProtocolSubscription) -> Sequence[TopicPartition]:
    return subscription.owned_partitions or ()


def _updated(member: ConsumerMember, subscribed: _Subscribed) -> ConsumerMember:
    joining, subscription = subscribed.joining, subscribed.subscription
    return replace(
        member,
        instance_id=joining.request.group_instance_id or member.instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=joining.rebalance_timeout_ms,
        topics=frozenset(subscription.topics),
        regex="",
        client_id=joining.client_id,
        client_host=joining.client_host,
        classic=classic_metadata(joining.request.session_timeout_ms, joining.protocols),
    )


def _joined(member: ConsumerMember) -> JoinGroupResponse:
    """Return the answer to one who follows: nobody leads."""
    return JoinGroupResponse(
        error_code=ErrorCode.NONE,
        generation_id=member.epoch,
        protocol_type=CONSUMER,
        protocol_name=_protocol(member),
        leader="",
        skip_assignment=False,
        member_id=member.member_id,
        members=[],
    )


def _protocol(member: ConsumerMember) -> str:
    assert member.classic is not None
    return member.classic.supported_protocols[0].name


def _subscription_version(member: ConsumerMember) -> int:
    assert member.classic is not None
    return int.from_bytes(bytes(member.classic.supported_protocols[0].metadata)[:2], "big")


def _classic(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember:
    if instance_id is not None:
        member = known_static_member(group, member_id, instance_id)
    elif member_id in group.members:
        member = group.members[member_id]
    else:
        raise unknown_member(group, member_id)
    if member.classic is None:
        raise KafkaError(
            ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} does not use the classic protocol."
        )
    return member


def _check_generation(member: ConsumerMember, generation: int) -> None:
    if generation != member.epoch:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)


def _has_to_join(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Tell whether there is something to give back, or to get, or a new epoch."""
    if member.epoch < group.assignment_epoch or member.state is MemberState.UNREVOKED_PARTITIONS:
        return True
    if member.state is not MemberState.UNRELEASED_PARTITIONS:
        return False
    target = group.targets.get(member.member_id, {})
    return not any(
        index not in member.assigned.get(topic_id, {}) and group.is_owned(topic_id, index)
        for topic_id, partitions in target.items()
        for index in partitions
    )


def _leaving(group: ConsumerGroup, identity: MemberIdentity) -> ConsumerMember:
    if identity.group_instance_id is None:
        member = group.members.get(identity.member_id)
        if member is None:
            raise unknown_member(group, identity.member_id)
        return member
    holder = group.static_member(identity.group_instance_id)
    if holder is not None and not identity.member_id:
        return holder
    return known_static_member(group, identity.member_id, identity.group_instance_id)
