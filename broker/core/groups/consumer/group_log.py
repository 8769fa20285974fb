"""What the log has of groups of the consumer protocol: how records change groups, and are made.

A group changes by nothing else. So memory and log never differ, and what is loaded is what was.
Source: GroupMetadataManager.replay, GroupCoordinatorRecordHelpers (4.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias

from broker.core.coordination import Record
from broker.core.groups.assignors.assignment import AssignedPartitions
from broker.core.groups.consumer.consumer_group import NEVER_ASSIGNED_MS, ConsumerGroup
from broker.core.groups.consumer.consumer_member import (
    LEAVING_EPOCH,
    ConsumerMember,
    Held,
    MemberState,
)
from broker.core.groups.topic_patterns import ResolvedRegularExpression
from protocol.messages import consumer_group_records as messages
from protocol.stored_records import encode_key, encode_versioned

RECORDS: Final = (3, 4, 5, 6, 7, 8, 16)
"""The numbers in the keys of these records."""
_VERSION: Final = 0
_NO_ASSIGNMENT_EPOCH: Final = -1

Groups: TypeAlias = dict[str, ConsumerGroup]
_Apply: TypeAlias = Callable[[Groups, Any, Any], None]


class Change(NamedTuple):
    """One record before it is encoded: a ``...Key`` and its ``...Value``; None is a tombstone."""

    key: Any
    value: Any

    def record(self) -> Record:
        """Return it as it is stored."""
        stored = None if self.value is None else encode_versioned(self.value, _VERSION)
        return encode_key(self.key), stored


def apply(groups: Groups, change: Change) -> None:
    """Change the group that a record is about; a value makes it, if it is not there."""
    key, value = change
    if value is None and key.group_id not in groups:
        return
    _APPLY[key.__class__](groups, key, value)


def _epoch(groups: Groups, key: messages.ConsumerGroupMetadataKey, value: Any) -> None:
    if value is None:
        del groups[key.group_id]
        return
    group = _group(groups, key.group_id)
    group.epoch, group.metadata_hash = value.epoch, value.metadata_hash


def _partition_metadata(groups: Groups, key: Any, value: Any) -> None:
    _group(groups, key.group_id).has_partition_metadata_record = value is not None


def _member_metadata(
    groups: Groups,
    key: messages.ConsumerGroupMemberMetadataKey,
    value: messages.ConsumerGroupMemberMetadataValue | None,
) -> None:
    group = _group(groups, key.group_id)
    if value is None:
        group.remove(key.member_id)
        return
    group.put(
        replace(
            _member(group, key.member_id),
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            topics=frozenset(value.subscribed_topic_names),
            regex=value.subscribed_topic_regex,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            assignor=value.server_assignor,
            classic=value.classic_member_metadata,
        )
    )


def _target_metadata(groups: Groups, key: Any, value: Any) -> None:
    group = _group(groups, key.group_id)
    group.assignment_epoch = _NO_ASSIGNMENT_EPOCH if value is None else value.assignment_epoch
    group.assignment_ms = NEVER_ASSIGNED_MS if value is None else value.assignment_timestamp


def _target(
    groups: Groups, key: messages.ConsumerGroupTargetAssignmentMemberKey, value: Any
) -> None:
    targets = _group(groups, key.group_id).targets
    if value is None:
        targets.pop(key.member_id, None)
    else:
        targets[key.member_id] = {
            bytes(row.topic_id): tuple(sorted(row.partitions)) for row in value.topic_partitions
        }


def _current(
    groups: Groups,
    key: messages.ConsumerGroupCurrentMemberAssignmentKey,
    value: messages.ConsumerGroupCurrentMemberAssignmentValue | None,
) -> None:
    group = _group(groups, key.group_id)
    if value is None:
        if key.member_id in group.members:
            member = group.members[key.member_id]
            group.put(replace(member, epoch=LEAVING_EPOCH, assigned={}, revoking={}))
        return
    group.put(
        replace(
            _member(group, key.member_id),
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            state=MemberState.stored(value.state),
            assigned=_held(value.assigned_partitions, value.member_epoch),
            revoking=_held(value.partitions_pending_revocation, value.member_epoch),
        )
    )


def _regex(groups: Groups, key: messages.ConsumerGroupRegularExpressionKey, value: Any) -> None:
    found = value and ResolvedRegularExpression(
        frozenset(value.topics), value.version, value.timestamp
    )
    _group(groups, key.group_id).put_regex(key.regular_expression, found)


_APPLY: Final[Mapping[type[Any], _Apply]] = {
    messages.ConsumerGroupMetadataKey: _epoch,
    messages.ConsumerGroupPartitionMetadataKey: _partition_metadata,
    messages.ConsumerGroupMemberMetadataKey: _member_metadata,
    messages.ConsumerGroupTargetAssignmentMetadataKey: _target_metadata,
    messages.ConsumerGroupTargetAssignmentMemberKey: _target,
    messages.ConsumerGroupCurrentMemberAssignmentKey: _current,
    messages.ConsumerGroupRegularExpressionKey: _regex,
}


def _group(groups: Groups, group_id: str) -> ConsumerGroup:
    return groups.setdefault(group_id, ConsumerGroup(group_id))


def _member(group: ConsumerGroup, member_id: str) -> ConsumerMember:
    return group.members.get(member_id) or ConsumerMember(member_id=member_id)


def _held(rows: Iterable[messages.TopicPartitions], member_epoch: int) -> Held:
    """Read partitions; where earlier releases stored no epochs, the member's counts."""
    held: dict[bytes, dict[int, int]] = {}
    for row in rows:
        epochs = row.assignment_epochs
        if epochs is None or len(epochs) != len(row.partitions):
            epochs = [max(member_epoch, 0)] * len(row.partitions)
        held[bytes(row.topic_id)] = dict(zip(row.partitions, epochs, strict=True))
    return held


# How they are made.


def epoch_change(group_id: str, epoch: int, metadata_hash: int) -> Change:
    """Begin a group epoch."""
    value = messages.ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return Change(messages.ConsumerGroupMetadataKey(group_id=group_id), value)


def partition_metadata_gone(group_id: str) -> Change:
    """Forget what releases before 4.1 stored."""
    return Change(messages.ConsumerGroupPartitionMetadataKey(group_id=group_id), None)


def member_change(group_id: str, member: ConsumerMember) -> Change:
    """Store what a member says of itself."""
    value = messages.ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        subscribed_topic_regex=member.regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.assignor,
        classic_member_metadata=member.classic,
    )
    return Change(_member_key(group_id, member.member_id), value)


def target_metadata_change(group_id: str, epoch: int, wall_ms: int) -> Change:
    """Say which group epoch the targets are for, and when they were computed."""
    value = messages.ConsumerGroupTargetAssignmentMetadataValue(
        assignment_epoch=epoch, assignment_timestamp=wall_ms
    )
    return Change(messages.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def target_change(group_id: str, member_id: str, target: AssignedPartitions) -> Change:
    """Say what a member shall have."""
    value = messages.ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=[
            messages.TopicPartition(topic_id=topic_id, partitions=list(partitions))
            for topic_id, partitions in target.items()
        ]
    )
    return Change(_target_key(group_id, member_id), value)


def current_change(group_id: str, member: ConsumerMember) -> Change:
    """Store what a member has, and in which epoch it is."""
    value = messages.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state.value,
        assigned_partitions=_rows(member.assigned),
        partitions_pending_revocation=_rows(member.revoking),
    )
    return Change(_current_key(group_id, member.member_id), value)


def regex_change(group_id: str, regex: str, resolved: ResolvedRegularExpression | None) -> Change:
    """Store what a regular expression found; None forgets it."""
    key = messages.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)
    if resolved is None:
        return Change(key, None)
    value = messages.ConsumerGroupRegularExpressionValue(
        topics=sorted(resolved.topics), version=resolved.version, timestamp=resolved.timestamp_ms
    )
    return Change(key, value)


def member_gone(group_id: str, member_id: str) -> list[Change]:
    """Forget a member."""
    return [
        Change(_current_key(group_id, member_id), None),
        Change(_target_key(group_id, member_id), None),
        Change(_member_key(group_id, member_id), None),
    ]


def group_gone(group: ConsumerGroup) -> list[Change]:
    """Forget a group, with its members if it has any."""
    group_id = group.group_id
    return [
        *(Change(_current_key(group_id, member_id), None) for member_id in group.members),
        *(Change(_target_key(group_id, member_id), None) for member_id in group.members),
        Change(messages.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None),
        *(Change(_member_key(group_id, member_id), None) for member_id in group.members),
        *(regex_change(group_id, regex, None) for regex in group.regexes),
        partition_metadata_gone(group_id),
        Change(messages.ConsumerGroupMetadataKey(group_id=group_id), None),
    ]


def _member_key(group_id: str, member_id: str) -> messages.ConsumerGroupMemberMetadataKey:
    return messages.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id)


def _target_key(group_id: str, member_id: str) -> messages.ConsumerGroupTargetAssignmentMemberKey:
    return messages.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)


def _current_key(group_id: str, member_id: str) -> messages.ConsumerGroupCurrentMemberAssignmentKey:
    return messages.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)


def _rows(held: Held) -> list[messages.TopicPartitions]:
    return [
        messages.TopicPartitions(
            topic_id=topic_id,
            partitions=list(partitions),
            assignment_epochs=list(partitions.values()),
        )
        for topic_id, partitions in held.items()
    ]
