"""Takes back changes of groups that the log would refuse: memory never says more than it does.

Source: SnapshotRegistry.revertToSnapshot, CoordinatorRuntime.append.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from broker.core.groups.assignors.assignment import AssignedPartitions
from broker.core.groups.consumer.consumer_group import ConsumerGroup
from broker.core.groups.consumer.group_log import Change, Groups
from broker.core.groups.decision import Revert
from protocol.messages import consumer_group_records as messages


def revert_of(groups: Groups, change: Change) -> Revert:
    """Return what takes a change back that is about to be made; later ones are taken back before.

    Members that were removed come back behind the others.
    """
    key = change.key
    group = groups.get(key.group_id)
    if group is None:
        return partial(groups.pop, key.group_id, None)
    match key:
        case (
            messages.ConsumerGroupMemberMetadataKey()
            | messages.ConsumerGroupCurrentMemberAssignmentKey()
        ):
            member = group.members.get(key.member_id)
            if member is None:
                return partial(group.remove, key.member_id)
            return partial(group.put, member)
        case messages.ConsumerGroupTargetAssignmentMemberKey():
            return partial(_put_target, group, key.member_id, group.targets.get(key.member_id))
        case messages.ConsumerGroupRegularExpressionKey():
            regex = key.regular_expression
            return partial(group.put_regex, regex, group.regexes.get(regex))
        case _:
            return partial(_put_group, groups, group, _Own.of(group))


class _Own(NamedTuple):
    """What a group's own records say."""

    epoch: int
    metadata_hash: int
    assignment_epoch: int
    assignment_ms: int
    has_partition_metadata_record: bool

    @classmethod
    def of(cls, group: ConsumerGroup) -> _Own:
        return cls(*(getattr(group, name) for name in cls._fields))


def _put_group(groups: Groups, group: ConsumerGroup, own: _Own) -> None:
    groups[group.group_id] = group
    for name, value in own._asdict().items():
        setattr(group, name, value)


def _put_target(group: ConsumerGroup, member_id: str, target: AssignedPartitions | None) -> None:
    if target is None:
        group.targets.pop(member_id, None)
    else:
        group.targets[member_id] = target
