"""All groups of a shard, with members or only with offsets: told of, listed, deleted.

Source: GroupMetadataManager.describeGroups, listGroups; GroupCoordinatorShard.deleteGroups.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker.core.coordination import Answer, Decided, Record, Waiter
from broker.core.groups.classic_group import ClassicGroup, GroupState
from broker.core.groups.group_answers import described, listed, not_there
from broker.core.groups.group_shard import GroupShard
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.groups import DescribedGroup, ListedGroup


def describe(shard: GroupShard, waiter: Waiter, group_id: str, version: int) -> Decided:
    """Tell of a group with a DescribedGroup; one that is not there is dead."""
    group = _group(shard, group_id)
    told: DescribedGroup = not_there(group_id, version) if group is None else described(group)
    return Decided(answers=(Answer(waiter, told),))


def list_groups(
    shard: GroupShard, states: Sequence[str], types: Sequence[str]
) -> list[ListedGroup]:
    """List the groups in one of ``states`` and of one of ``types``; none given are all."""
    simple = [
        group_id for group_id in shard.offsets.group_ids() if not shard.members.knows(group_id)
    ]
    groups = [*shard.members.groups, *(_simple_group(group_id) for group_id in simple)]
    return listed(groups, states, types)


def delete(shard: GroupShard, waiter: Waiter, group_id: str) -> Decided:
    """Delete a group that nobody is in, with its offsets; the answer is NONE.

    Raises:
        KafkaError: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.
    """
    if _group(shard, group_id) is None:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
    error = shard.members.deletion_error(group_id)
    if error is not ErrorCode.NONE:
        raise KafkaError(error)
    records: list[Record] = [*shard.offsets.delete_all(group_id), *shard.members.delete(group_id)]
    return Decided(records, (Answer(waiter, ErrorCode.NONE),))


def _group(shard: GroupShard, group_id: str) -> ClassicGroup | None:
    group = shard.members.get(group_id)
    if group is None and shard.offsets.has_offsets(group_id):
        return _simple_group(group_id)
    return group


def _simple_group(group_id: str) -> ClassicGroup:
    return ClassicGroup(group_id, state=GroupState.EMPTY, state_since_ms=None)
