"""ConsumerGroupHeartbeat: members join, say what they read and what they have, and leave.

Everything that can be refused is refused before anything changes.
Source: GroupMetadataManager.consumerGroupHeartbeat, consumerGroupLeave;
GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid; KIP-848.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from broker.core.groups.consumer.consumer_group import ConsumerGroup
from broker.core.groups.consumer.consumer_member import (
    JOINING_EPOCH,
    LEAVING_EPOCH,
    STATIC_LEAVING_EPOCH,
    ConsumerMember,
    Held,
)
from broker.core.groups.consumer.consumer_rebalances import ConsumerRebalances
from broker.core.groups.consumer.group_log import (
    current_change,
    member_change,
    member_gone,
    target_change,
)
from broker.core.groups.consumer.group_settings import ConsumerGroupSettings
from broker.core.groups.consumer.reconciliation import unknown_state_error
from broker.core.groups.consumer.regexes import resolve_if_due
from broker.core.groups.decision import Decision
from broker.core.groups.topic_patterns import check_pattern
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.consumer_groups import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

_MEMBER_ID_REQUIRED_SINCE: Final = 1
"""From this version on members make their ids themselves (KIP-1082)."""
_UNCHANGED: Final = -1


class Heartbeating(NamedTuple):
    """One ConsumerGroupHeartbeat, and what is known of who sent it."""

    request: ConsumerGroupHeartbeatRequest
    version: int
    client_id: str
    client_host: str
    unique: str
    """Never given before; the member id, if this one has none."""

    @property
    def member_id(self) -> str:
        """The id that it has, or gets."""
        return self.request.member_id or self.unique

    @property
    def is_joining(self) -> bool:
        """Whether it joins, for the first time or again."""
        return self.request.member_epoch == JOINING_EPOCH

    @property
    def is_leaving(self) -> bool:
        """Whether it leaves, or says that it is away for a while."""
        return self.request.member_epoch in (LEAVING_EPOCH, STATIC_LEAVING_EPOCH)

    @property
    def is_full(self) -> bool:
        """Whether it says everything, as it does when it lost an answer."""
        request = self.request
        has_subscription = (request.subscribed_topic_names, request.subscribed_topic_regex) != (
            None,
            None,
        )
        has_rest = (
            request.rebalance_timeout_ms != _UNCHANGED and request.topic_partitions is not None
        )
        return has_subscription and has_rest


def check_request(heartbeating: Heartbeating, assignors: Container[str], known: str) -> None:
    """Refuse what no group would take; ``known`` names the assignors.

    Raises:
        KafkaError: INVALID_REQUEST, UNSUPPORTED_ASSIGNOR.
    """
    wrong = _wrong_name(heartbeating) or _wrong_epoch(heartbeating.request)
    if wrong is not None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, wrong)
    assignor = heartbeating.request.server_assignor
    if assignor is not None and assignor not in assignors:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {assignor} is not supported. Supported assignors: {known}.",
        )


def _wrong_name(heartbeating: Heartbeating) -> str | None:
    request = heartbeating.request
    needs_member_id = (
        heartbeating.version >= _MEMBER_ID_REQUIRED_SINCE
        or request.member_epoch > JOINING_EPOCH
        or request.member_epoch == LEAVING_EPOCH
    )
    if needs_member_id and not request.member_id:
        return "MemberId can't be empty."
    names = {
        "GroupId": request.group_id,
        "InstanceId": request.instance_id,
        "RackId": request.rack_id,
    }
    return next((f"{name} can't be empty." for name, said in names.items() if said == ""), None)


def _wrong_epoch(request: ConsumerGroupHeartbeatRequest) -> str | None:
    if request.member_epoch < STATIC_LEAVING_EPOCH:
        return "MemberEpoch is invalid."
    if request.member_epoch == STATIC_LEAVING_EPOCH and request.instance_id is None:
        return "InstanceId can't be null."
    return _wrong_joining(request) if request.member_epoch == JOINING_EPOCH else None


def _wrong_joining(request: ConsumerGroupHeartbeatRequest) -> str | None:
    if request.rebalance_timeout_ms == _UNCHANGED:
        return "RebalanceTimeoutMs must be provided in first request."
    if request.topic_partitions is None or request.topic_partitions:
        return "TopicPartitions must be empty when (re-)joining."
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        return (
            "Either SubscribedTopicNames or SubscribedTopicRegex must"
            " be non-null when (re-)joining."
        )
    return None


def check_member(group: ConsumerGroup, heartbeating: Heartbeating, *, size_max: int) -> None:
    """Refuse what this group does not take; one that is new has no members.

    Raises:
        KafkaError: GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH,
            UNRELEASED_INSTANCE_ID, FENCED_INSTANCE_ID, INVALID_REGULAR_EXPRESSION.
    """
    request = heartbeating.request
    check_room(group, request.member_id, size_max)
    member = _found(group, heartbeating)
    if member is not None and not heartbeating.is_joining:
        _check_epoch(member, request)
    if member is not None:
        error = unknown_state_error(member, request.topic_partitions)
        if error is not None:
            raise error
    regex = request.subscribed_topic_regex
    if regex and regex not in group.regex_subscribers:
        check_pattern(regex)


def check_room(group: ConsumerGroup, member_id: str, size_max: int) -> None:
    """Refuse one more than a group may have.

    Raises:
        KafkaError: GROUP_MAX_SIZE_REACHED.
    """
    if len(group.members) >= size_max and member_id not in group.members:
        raise KafkaError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {size_max} members.",
        )


def _found(group: ConsumerGroup, heartbeating: Heartbeating) -> ConsumerMember | None:
    """Return the member that this is already; None for one that is new, or takes a place over."""
    request, member_id = heartbeating.request, heartbeating.member_id
    if request.instance_id is None:
        member = group.members.get(member_id)
        if member is None and not heartbeating.is_joining:
            raise unknown_member(group, member_id)
        return member
    holder = group.static_member(request.instance_id)
    if not heartbeating.is_joining:
        return known_static_member(group, member_id, request.instance_id)
    if holder is not None and holder.classic is None and holder.epoch != STATIC_LEAVING_EPOCH:
        raise KafkaError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {request.instance_id} cannot join the"
            f" group because the instance id is owned by {holder.member_id} member.",
        )
    return None


def unknown_member(group: ConsumerGroup, member_id: str) -> KafkaError:
    """Return the refusal of somebody who is no member."""
    return KafkaError(
        ErrorCode.UNKNOWN_MEMBER_ID,
        f"Member {member_id} is not a member of group {group.group_id}.",
    )


def known_static_member(group: ConsumerGroup, member_id: str, instance_id: str) -> ConsumerMember:
    """Return the member that has an instance id.

    Raises:
        KafkaError: UNKNOWN_MEMBER_ID; FENCED_INSTANCE_ID, another member has it.
    """
    holder = group.static_member(instance_id)
    if holder is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if holder.member_id != member_id:
        raise KafkaError(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member"
            f" {holder.member_id}.",
        )
    return holder


def _check_epoch(member: ConsumerMember, request: ConsumerGroupHeartbeatRequest) -> None:
    """Refuse another epoch than the member's, but for the last one if the answer was lost."""
    epoch = request.member_epoch
    if epoch == member.epoch:
        return
    is_greater = epoch > member.epoch
    is_answer_lost = epoch == member.previous_epoch and member.has_at_least(
        request.topic_partitions
    )
    if is_greater or not is_answer_lost:
        raise KafkaError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The consumer group member has a {'greater' if is_greater else 'smaller'} member"
            f" epoch ({epoch}) than the one known by the group coordinator ({member.epoch})."
            " The member must abandon all its partitions and rejoin.",
        )


class ConsumerHeartbeats:
    """Takes members in and lets them go on."""

    __slots__ = ("_rebalances",)

    def __init__(self, rebalances: ConsumerRebalances) -> None:
        self._rebalances = rebalances

    def beat(
        self,
        group: ConsumerGroup,
        heartbeating: Heartbeating,
        settings: ConsumerGroupSettings,
        decision: Decision,
    ) -> ConsumerGroupHeartbeatResponse:
        """Take over what a member says, and tell it what it has now; it was checked before."""
        request, member_id = heartbeating.request, heartbeating.member_id
        member = self.member_or_new(group, member_id, request.instance_id, decision)
        updated = _updated(member, heartbeating)
        if updated != member:
            self._rebalances.write([member_change(group.group_id, updated)], decision)
        names_changed = updated.topics != member.topics
        regex_changed = (updated.regex or "") != (member.regex or "")
        if regex_changed:
            self._rebalances.forget_regexes(group, [member.regex], decision)
        is_resolved = resolve_if_due(group, self._rebalances, decision)
        self._rebalances.begin_epoch_if_due(
            group,
            decision,
            subscription_changed=names_changed or regex_changed or is_resolved,
        )
        self._rebalances.assign_if_due(group, decision, interval_ms=settings.assignment_interval_ms)
        updated = self._rebalances.reconcile(
            group,
            group.members[member_id],
            request.topic_partitions,
            decision,
            subscription_changed=names_changed or regex_changed,
        )
        self._rebalances.time_session(
            group.group_id, member_id, settings.session_timeout_ms, decision.now_ms
        )
        is_told = heartbeating.is_joining or heartbeating.is_full
        assigned = updated.assigned if is_told or updated.assigned != member.assigned else None
        return _told(updated, assigned, settings.heartbeat_interval_ms)

    def member_or_new(
        self, group: ConsumerGroup, member_id: str, instance_id: str | None, decision: Decision
    ) -> ConsumerMember:
        """Return a member; one that is new has nothing, or what a static member before it had."""
        holder = group.static_member(instance_id)
        if holder is None or holder.member_id == member_id:
            return group.members.get(member_id) or ConsumerMember(member_id=member_id)
        group_id = group.group_id
        target = group.targets.get(holder.member_id, {})
        member = replace(
            holder, member_id=member_id, epoch=JOINING_EPOCH, previous_epoch=JOINING_EPOCH
        )
        changes = [
            *member_gone(group_id, holder.member_id),
            member_change(group_id, member),
            target_change(group_id, member_id, target),
            current_change(group_id, member),
        ]
        self._rebalances.write(changes, decision)
        self._rebalances.cancel(group_id, holder.member_id)
        return member

    def leave(
        self, group: ConsumerGroup, heartbeating: Heartbeating, decision: Decision
    ) -> ConsumerGroupHeartbeatResponse:
        """Let a member go; a static one may say that it will be back.

        Raises:
            KafkaError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
        """
        request = heartbeating.request
        if request.instance_id is None:
            member = group.members.get(request.member_id)
            if member is None:
                raise unknown_member(group, request.member_id)
        else:
            member = known_static_member(group, request.member_id, request.instance_id)
        if request.instance_id is not None and request.member_epoch == STATIC_LEAVING_EPOCH:
            away = replace(
                member,
                epoch=STATIC_LEAVING_EPOCH,
                assigned=_since_joining(member.assigned),
                revoking={},
            )
            self._rebalances.write([current_change(group.group_id, away)], decision)
        else:
            self._rebalances.fence(group, [member.member_id], decision)
        return _told(replace(member, epoch=request.member_epoch), None, 0)


def _told(
    member: ConsumerMember, assigned: Held | None, interval_ms: int
) -> ConsumerGroupHeartbeatResponse:
    """Tell a member its id, its epoch and what it has; None leaves that as it was told last."""
    return ConsumerGroupHeartbeatResponse(
        error_code=ErrorCode.NONE,
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=interval_ms,
        assignment=None if assigned is None else Assignment(topic_partitions=_rows(assigned)),
    )


def _updated(member: ConsumerMember, heartbeating: Heartbeating) -> ConsumerMember:
    """Return the member with what it says now; None, and -1, leave what was said before."""
    request = heartbeating.request
    names, timeout_ms = request.subscribed_topic_names, request.rebalance_timeout_ms
    regex = request.subscribed_topic_regex
    return replace(
        member,
        instance_id=request.instance_id or member.instance_id,
        rack_id=request.rack_id or member.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms
        if timeout_ms == _UNCHANGED
        else timeout_ms,
        assignor=request.server_assignor or member.assignor,
        topics=member.topics if names is None else frozenset(names),
        regex=member.regex if regex is None else regex,
        client_id=heartbeating.client_id,
        client_host=heartbeating.client_host,
        classic=None,
    )


def _since_joining(held: Held) -> Held:
    """Count partitions as given at epoch 0: the id that comes back has not been told later ones."""
    return {topic_id: dict.fromkeys(held[topic_id], JOINING_EPOCH) for topic_id in held}


def _rows(held: Held) -> Sequence[TopicPartitions]:
    return [
        TopicPartitions(topic_id=topic_id, partitions=list(partitions))
        for topic_id, partitions in held.items()
    ]
