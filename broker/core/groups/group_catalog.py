"""All groups of a shard, with members or only with offsets: told of, listed, deleted.

Source: GroupMetadataManager.describeGroups, listGroups; GroupCoordinatorShard.deleteGroups.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker.core.coordination import Answer, Decided, Record, Waiter
from broker.core.groups.classic_group import ClassicGroup, GroupState
from broker.core.groups.consumer import consumer_answers
from broker.core.groups.consumer.consumer_group import ConsumerGroup
from broker.core.groups.group_answers import described, listed, listed_group, not_there
from broker.core.groups.group_shard import GroupShard
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.groups import ListedGroup


def describe(shard: GroupShard, waiter: Waiter, group_id: str, version: int) -> Decided:
    """Tell of a group with a DescribedGroup; one that is not there is dead."""
    group = _group(shard, group_id)
    if group is None:
        told = not_there(group_id, version, f"Group {group_id} not found.")
    elif isinstance(group, ConsumerGroup):
        told = not_there(group_id, version, f"Group {group_id} is not a classic group.")
    else:
        told = described(group)
    return Decided(answers=(Answer(waiter, told),))


def describe_consumer_group(shard: GroupShard, waiter: Waiter, group_id: str) -> Decided:
    """Tell of a group of the consumer protocol, as ConsumerGroupDescribe does."""
    group, consumer = _group(shard, group_id), shard.members.consumer
    if isinstance(group, ConsumerGroup):
        told = consumer_answers.described(group, consumer.topics, consumer.default_assignor)
    else:
        reason = "not found" if group is None else "is not a consumer group"
        told = consumer_answers.not_described(
            group_id, ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} {reason}."
        )
    return Decided(answers=(Answer(waiter, told),))


def list_groups(
    shard: GroupShard, states: Sequence[str], types: Sequence[str]
) -> list[ListedGroup]:
    """List the groups in one of ``states`` and of one of ``types``; none given are all."""
    simple = [
        group_id for group_id in shard.offsets.group_ids() if not shard.members.knows(group_id)
    ]
    groups = [
        *shard.members.classic.groups,
        *(_simple_group(group_id) for group_id in simple),
        *shard.members.consumer.groups,
    ]
    return listed(map(listed_group, groups), states, types)


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
    shard.offsets.forget_empty(group_id)
    return Decided(records, (Answer(waiter, ErrorCode.NONE),), is_atomic=False)


def _group(shard: GroupShard, group_id: str) -> ClassicGroup | ConsumerGroup | None:
    group = shard.members.get(group_id)
    if group is None and shard.offsets.is_here(group_id):
        return _simple_group(group_id)
    return group


def _simple_group(group_id: str) -> ClassicGroup:
    return ClassicGroup(group_id, state=GroupState.EMPTY, state_since_ms=None)
