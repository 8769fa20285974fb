"""Brings a member from what it has to its target, one step for each of its heartbeats.

It gives back first, then takes what is free. Source: CurrentAssignmentBuilder, KIP-848.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from broker.core.groups.assignors.assignment import AssignedPartitions
from broker.core.groups.consumer.consumer_member import ConsumerMember, Held, MemberState
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.consumer_groups import TopicPartitions

Owned: TypeAlias = Sequence[TopicPartitions] | None
"""What a member says it owns; None when it says nothing of that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Towards:
    """Where a member is to go."""

    epoch: int
    """Of the target assignment."""
    target: AssignedPartitions
    subscribed_ids: Collection[bytes]
    """Ids of the topics that the member subscribes to now: of others it gives all back."""
    is_owned: Callable[[bytes, int], bool]
    """Whether somebody has a partition, this member or another one."""


def reconciled(
    member: ConsumerMember, towards: Towards, owned: Owned, *, subscription_changed: bool
) -> ConsumerMember:
    """Return the member after this step; the same one when it has to stay where it is.

    One in a state that only a later release knows must own nothing (``unknown_state_error``).
    """
    match member.state:
        case MemberState.STABLE:
            if member.epoch != towards.epoch:
                return _next(member, towards, owned)
            return _narrowed(member, towards, owned) if subscription_changed else member
        case MemberState.UNREVOKED_PARTITIONS:
            if not _owns_any(owned, member.revoking):
                return _next(member, towards, owned)
            return _narrowed(member, towards, owned) if subscription_changed else member
        case MemberState.UNRELEASED_PARTITIONS:
            return _next(member, towards, owned)
        case MemberState.UNKNOWN:
            assert not _owns_any(owned, member.assigned)
            return _next(member, towards, owned)


def unknown_state_error(member: ConsumerMember, owned: Owned) -> KafkaError | None:
    """Return why a member that a later release left in a state of its own has to join anew."""
    if member.state is not MemberState.UNKNOWN or (owned is not None and not owned):
        return None
    return KafkaError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        "The consumer group member is in a unknown state. "
        "The member must abandon all its partitions and rejoin.",
    )


def _next(member: ConsumerMember, towards: Towards, owned: Owned) -> ConsumerMember:
    kept: dict[bytes, dict[int, int]] = {}
    revoking: dict[bytes, dict[int, int]] = {}
    for topic_id, held in member.assigned.items():
        target = frozenset(towards.target.get(topic_id, ()))
        if topic_id not in towards.subscribed_ids:
            target = frozenset[int]()
        for index, epoch in held.items():
            place = kept if index in target else revoking
            place.setdefault(topic_id, {})[index] = epoch
    if revoking and _owns_any(owned, revoking):
        return _giving_back(member, kept, revoking)
    is_waiting = _take_free(member, towards, kept)
    return replace(
        member,
        state=MemberState.UNRELEASED_PARTITIONS if is_waiting else MemberState.STABLE,
        epoch=towards.epoch,
        previous_epoch=member.epoch,
        assigned=kept,
        revoking={},
    )


def _take_free(member: ConsumerMember, towards: Towards, kept: dict[bytes, dict[int, int]]) -> bool:
    """Add to ``kept`` what of the target nobody else has; tell whether somebody has some of it."""
    is_waiting = False
    for topic_id, target in towards.target.items():
        if topic_id not in towards.subscribed_ids:
            continue
        have = kept.get(topic_id, {})
        own = member.revoking.get(topic_id, {})
        for index in target:
            if index in have:
                continue
            if towards.is_owned(topic_id, index) and index not in own:
                is_waiting = True
            else:
                kept.setdefault(topic_id, {})[index] = towards.epoch
    return is_waiting


def _narrowed(member: ConsumerMember, towards: Towards, owned: Owned) -> ConsumerMember:
    """Take away what it does not subscribe to any more, in the epoch that it is in."""
    gone = {
        topic_id: held
        for topic_id, held in member.assigned.items()
        if topic_id not in towards.subscribed_ids
    }
    if not gone:
        return member
    kept = {topic_id: held for topic_id, held in member.assigned.items() if topic_id not in gone}
    revoking = dict(member.revoking)
    for topic_id, held in gone.items():
        revoking[topic_id] = {**revoking.get(topic_id, {}), **held}
    if _owns_any(owned, revoking):
        return _giving_back(member, kept, revoking)
    return replace(member, previous_epoch=member.epoch, assigned=kept)


def _giving_back(member: ConsumerMember, kept: Held, revoking: Held) -> ConsumerMember:
    return replace(
        member,
        state=MemberState.UNREVOKED_PARTITIONS,
        previous_epoch=member.epoch,
        assigned=kept,
        revoking=revoking,
    )


def _owns_any(owned: Owned, revoking: Held) -> bool:
    """Tell whether a member still has some of what it gives back; who says nothing has."""
    if owned is None:
        return True
    return any(
        index in revoking.get(bytes(row.topic_id), {}) for row in owned for index in row.partitions
    )
