"""A group with members changes its protocol: classic to consumer and back, by one record batch.

The assignments stay. A member of the classic protocol speaks it until it is restarted.
Source: GroupMetadataManager.convertToConsumerGroup, convertToClassicGroup;
ConsumerGroup.fromClassicGroup, ClassicGroup.fromConsumerGroup; KIP-848.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from broker.core.groups.assignors.assignment import AssignedPartitions
from broker.core.groups.classic_group import CONSUMER, ClassicGroup, GroupState, Member
from broker.core.groups.consumer.consumer_group import NEVER_ASSIGNED_MS, ConsumerGroup
from broker.core.groups.consumer.consumer_member import ConsumerMember
from broker.core.groups.consumer.group_log import (
    Change,
    current_change,
    epoch_change,
    member_change,
    target_change,
    target_metadata_change,
)
from broker.core.groups.consumer.known_topics import KnownTopics
from broker.core.groups.subscription import assignment_of, encoded_assignment, subscription_of
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.messages.consumer_group_records import ClassicMemberMetadata, ClassicProtocol

UPGRADES, DOWNGRADES = ("bidirectional", "upgrade"), ("bidirectional", "downgrade")
DISABLED = "disabled"
"""Values of ``group.consumer.migration.policy``, in small letters."""


def upgraded(
    group: ClassicGroup, topics: KnownTopics, *, policy: str, size_max: int
) -> list[Change]:
    """Return the records of the consumer group that a classic group becomes.

    Raises:
        KafkaError: GROUP_ID_NOT_FOUND, it has to stay what it is.
    """
    reason = _stays_because(group, policy, size_max)
    if reason is not None:
        raise _not_upgraded(group, f"because {reason}.")
    try:
        found = [_upgraded_member(group, member, topics) for member in group.members.values()]
    except Malformed as error:
        reason = "because the embedded consumer protocol is malformed."
        raise _not_upgraded(group, reason) from error
    group_id, epoch = group.group_id, group.generation
    members = [member for member, _ in found]
    hashed = topics.hash_of({name for member in members for name in member.topics})
    return [
        *(member_change(group_id, member) for member in members),
        epoch_change(group_id, epoch, hashed),
        *(target_change(group_id, member.member_id, target) for member, target in found),
        target_metadata_change(group_id, epoch, NEVER_ASSIGNED_MS),
        *(current_change(group_id, member) for member in members),
    ]


def _stays_because(group: ClassicGroup, policy: str, size_max: int) -> str | None:
    if policy.lower() not in UPGRADES:
        return "online upgrade is disabled"
    if not group.is_consumer:
        return "the group does not use the consumer embedded protocol"
    if len(group.members) > size_max:
        return "the group size exceeds the consumer group maximum size"
    return None


def _not_upgraded(group: ClassicGroup, reason: str) -> KafkaError:
    return KafkaError(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {group.group_id} to consumer group {reason}",
    )


def _upgraded_member(
    group: ClassicGroup, member: Member, topics: KnownTopics
) -> tuple[ConsumerMember, AssignedPartitions]:
    subscription = subscription_of(
        member.metadata(group.protocol_name or group.selected_protocol())
    )
    target = _target(group, member, topics)
    upgraded_member = ConsumerMember(
        member_id=member.member_id,
        epoch=group.generation,
        previous_epoch=group.generation,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id or None,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        topics=frozenset(subscription.topics),
        classic=classic_metadata(member.session_timeout_ms, member.protocols),
        assigned={
            topic_id: dict.fromkeys(partitions, group.generation)
            for topic_id, partitions in target.items()
        },
    )
    return upgraded_member, target


def _target(group: ClassicGroup, member: Member, topics: KnownTopics) -> AssignedPartitions:
    if not member.assignment:
        return {}
    assignment = assignment_of(member.assignment)
    if assignment.user_data:
        raise _not_upgraded(
            group,
            "because an unsupported custom assignor is in use. Please refer to the documentation"
            " or switch to a default assignor before re-attempting the upgrade.",
        )
    rows = ((topics.topic_id(row.topic), row) for row in assignment.assigned_partitions)
    return {
        topic_id: tuple(sorted(row.partitions)) for topic_id, row in rows if topic_id is not None
    }


def classic_metadata(
    session_timeout_ms: int, protocols: Sequence[tuple[str, bytes]]
) -> ClassicMemberMetadata:
    """Return what is stored of a member because it speaks the classic protocol."""
    return ClassicMemberMetadata(
        session_timeout_ms=session_timeout_ms,
        supported_protocols=[
            ClassicProtocol(name=name, metadata=metadata) for name, metadata in protocols
        ],
    )


def may_downgrade(
    group: ConsumerGroup, leaving: Container[str], *, policy: str, size_max: int
) -> bool:
    """Tell whether a group becomes classic once these are gone: only classic members remain."""
    rest = [member for member in group.members.values() if member.member_id not in leaving]
    return (
        0 < len(rest) <= size_max
        and policy.lower() in DOWNGRADES
        and all(member.classic is not None for member in rest)
    )


def downgraded(
    group: ConsumerGroup, leaving: Container[str], topics: KnownTopics, wall_ms: int
) -> ClassicGroup:
    """Return the classic group that the rest of a group becomes, stable in its group epoch."""
    classic = ClassicGroup(group.group_id, state=GroupState.STABLE, state_since_ms=wall_ms)
    classic.generation = group.epoch
    for member in group.members.values():
        if member.member_id not in leaving:
            classic.add(_downgraded_member(member), CONSUMER)
    classic.protocol_name = classic.selected_protocol()
    for member_id, member in classic.members.items():
        version = int.from_bytes(member.metadata(classic.protocol_name)[:2], "big")
        target = group.targets.get(member_id, {})
        member.assignment = encoded_assignment(named(target, topics), version)
    classic.subscribed_topics = classic.read_subscribed_topics()
    return classic


def named(partitions: AssignedPartitions, topics: KnownTopics) -> Mapping[str, Sequence[int]]:
    """Return partitions by the names of their topics, without topics that are no more."""
    names = {topic_id: topics.name(topic_id) for topic_id in partitions}
    return {name: partitions[topic_id] for topic_id, name in names.items() if name is not None}


def _downgraded_member(member: ConsumerMember) -> Member:
    assert member.classic is not None
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        session_timeout_ms=member.classic.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        protocols=[(row.name, bytes(row.metadata)) for row in member.classic.supported_protocols],
    )
