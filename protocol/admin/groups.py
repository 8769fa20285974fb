"""Consumer groups: how to find, list, describe and delete them, and how to read and set offsets.

A group's coordinator answers for it; who asks finds it with ``find_coordinator_request``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from protocol.admin.partitions import numbers_by_topic
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.consumer_groups import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from protocol.messages.consumer_protocol import ConsumerProtocolAssignment
from protocol.messages.coordinators import FindCoordinatorRequest
from protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from protocol.messages.groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsResponse,
)
from protocol.ports import Buffer
from protocol.stored_records import decode_payload

FIND_ONE_VERSION_MAX: Final = 3
"""The newest FindCoordinator that asks for one group; any broker knows it."""
FETCH_ONE_VERSION_MAX: Final = 7
"""The newest OffsetFetch that asks for one group; any broker knows it."""
COMMIT_BY_NAME_VERSION_MAX: Final = 9
"""The newest OffsetCommit that names topics; those after it have their ids."""
CONSUMER_GROUP_DESCRIBE: Final = 69
DEAD: Final = "Dead"
"""The state of a group that is not there."""
_GROUP: Final = 0
_CONSUMERS: Final = ("consumer", "")
_NO_GENERATION: Final = -1


@dataclass(frozen=True, slots=True)
class GroupListing:
    """A group as a list has it."""

    group: str
    state: str
    """Empty where the broker does not tell: before 2.6."""
    type: str
    """``Classic`` or ``Consumer``; empty where the broker does not tell: before 3.8."""


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member of a group."""

    member_id: str
    instance_id: str
    """Of a static member; else empty."""
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group as its coordinator describes it; one that is not there is ``DEAD``."""

    group: str
    state: str
    assignor: str
    members: tuple[MemberView, ...] = ()


def find_coordinator_request(group: str) -> FindCoordinatorRequest:
    """Ask any broker who coordinates a group; up to ``FIND_ONE_VERSION_MAX``."""
    return FindCoordinatorRequest(key=group, key_type=_GROUP)


def group_listings(answer: ListGroupsResponse) -> list[GroupListing]:
    """Return the groups of consumers that one broker coordinates."""
    return [
        GroupListing(each.group_id, each.group_state, each.group_type.capitalize())
        for each in answer.groups
        if each.protocol_type in _CONSUMERS
    ]


def describe_group_request(group: str) -> DescribeGroupsRequest:
    """Ask a coordinator for a group of the classic protocol."""
    return DescribeGroupsRequest(groups=[group], include_authorized_operations=False)


def group_view(answer: DescribeGroupsResponse) -> GroupView | ErrorCode:
    """Return the one group of an answer, or its error."""
    (found,) = answer.groups
    code = ErrorCode(found.error_code)
    if code is ErrorCode.GROUP_ID_NOT_FOUND:
        return GroupView(found.group_id, DEAD, "")
    if code is not ErrorCode.NONE:
        return code
    members = tuple(
        MemberView(
            each.member_id,
            each.group_instance_id or "",
            each.client_id,
            each.client_host,
            _assignment(each.member_assignment),
        )
        for each in found.members
    )
    return GroupView(found.group_id, found.group_state, found.protocol_data, members)


def describe_consumer_group_request(group: str) -> ConsumerGroupDescribeRequest:
    """Ask a coordinator for a group of the protocol of KIP-848."""
    return ConsumerGroupDescribeRequest(group_ids=[group], include_authorized_operations=False)


def consumer_group_view(answer: ConsumerGroupDescribeResponse) -> GroupView | ErrorCode:
    """Return the one group of an answer, or its error: GROUP_ID_NOT_FOUND for classic ones."""
    (found,) = answer.groups
    if found.error_code:
        return ErrorCode(found.error_code)
    members = tuple(
        MemberView(
            each.member_id,
            each.instance_id or "",
            each.client_id,
            each.client_host,
            _partitions(
                (topic.topic_name, topic.partitions) for topic in each.assignment.topic_partitions
            ),
        )
        for each in found.members
    )
    return GroupView(found.group_id, found.group_state, found.assignor_name, members)


def committed_request(group: str) -> OffsetFetchRequest:
    """Ask a coordinator for all offsets of a group; up to ``FETCH_ONE_VERSION_MAX``."""
    return OffsetFetchRequest(group_id=group, topics=None, require_stable=False)


def committed_offsets(answer: OffsetFetchResponse) -> dict[TopicPartition, int]:
    """Return the offsets of a group; partitions without one are left out."""
    return {
        TopicPartition(topic.name, each.partition_index): each.committed_offset
        for topic in answer.topics
        for each in topic.partitions
        if each.error_code == ErrorCode.NONE and each.committed_offset >= 0
    }


def commit_request(group: str, offsets: Mapping[TopicPartition, int]) -> OffsetCommitRequest:
    """Set offsets of a group without members; up to ``COMMIT_BY_NAME_VERSION_MAX``."""
    by_topic: dict[str, list[OffsetCommitRequestPartition]] = {}
    for (topic, number), offset in offsets.items():
        part = OffsetCommitRequestPartition(
            partition_index=number, committed_offset=offset, committed_metadata=""
        )
        by_topic.setdefault(topic, []).append(part)
    return OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=_NO_GENERATION,
        member_id="",
        topics=[
            OffsetCommitRequestTopic(name=name, partitions=each) for name, each in by_topic.items()
        ],
    )


def delete_offsets_request(
    group: str, partitions: Collection[TopicPartition]
) -> OffsetDeleteRequest:
    """Have a group forget the offsets of partitions that none of its members reads."""
    return OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(
                name=name,
                partitions=[OffsetDeleteRequestPartition(partition_index=each) for each in numbers],
            )
            for name, numbers in numbers_by_topic(sorted(partitions)).items()
        ],
    )


def _assignment(data: Buffer) -> tuple[TopicPartition, ...]:
    if not len(data):
        return ()
    assigned: ConsumerProtocolAssignment = decode_payload(ConsumerProtocolAssignment, data)
    return _partitions((topic.topic, topic.partitions) for topic in assigned.assigned_partitions)


def _partitions(topics: Iterable[tuple[str, Sequence[int]]]) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic, each) for topic, numbers in topics for each in numbers)
