"""Groups in the memory of a fake cluster: one coordinator, offsets, logs that begin and end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
)
from protocol.messages.coordinators import FindCoordinatorRequest, FindCoordinatorResponse
from protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from protocol.messages.groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from protocol.messages.offsets import (
    EARLIEST,
    LATEST,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from protocol.stored_records import encode_versioned
from tests.jbodlab.kafka_tools.fake_cluster import FakeCluster

COORDINATOR = 2


@dataclass
class FakeGroups:
    """Broker 2 coordinates all; every log begins at 2, ends at 10 and has a record of 5000 ms."""

    offsets: dict[str, dict[TopicPartition, int]] = field(
        default_factory=dict[str, "dict[TopicPartition, int]"]
    )
    members: dict[str, list[TopicPartition]] = field(
        default_factory=dict[str, "list[TopicPartition]"]
    )
    """What the one member of a group reads."""
    refusals: list[ErrorCode] = field(default_factory=list[ErrorCode])
    """Of the next questions for a coordinator."""

    def offer(self, cluster: FakeCluster) -> None:
        for kind, reply in (
            (FindCoordinatorRequest, self._coordinator),
            (ListGroupsRequest, self._list),
            (DescribeGroupsRequest, self._describe),
            (OffsetFetchRequest, self._committed),
            (OffsetCommitRequest, self._commit),
            (OffsetDeleteRequest, self._delete_offsets),
            (DeleteGroupsRequest, self._delete),
            (ListOffsetsRequest, self._log_offsets),
        ):
            cluster.replies[kind] = reply

    def state(self, group: str) -> str:
        if group in self.members:
            return "Stable"
        return "Empty" if group in self.offsets else "Dead"

    def _coordinator(self, _broker: int, _request: Any) -> Any:
        code = self.refusals.pop(0) if self.refusals else ErrorCode.NONE
        return FindCoordinatorResponse(
            throttle_time_ms=0,
            error_code=code,
            error_message=None,
            node_id=COORDINATOR,
            host="h",
            port=1,
        )

    def _list(self, broker: int, _request: Any) -> Any:
        names = [*self.offsets, *self.members] if broker == COORDINATOR else []
        return ListGroupsResponse(
            throttle_time_ms=0,
            error_code=0,
            groups=[
                ListedGroup(
                    group_id=name,
                    protocol_type="consumer",
                    group_state=self.state(name),
                    group_type="classic",
                )
                for name in dict.fromkeys(names)
            ],
        )

    def _describe(self, broker: int, request: Any) -> Any:
        assert broker == COORDINATOR
        (group,) = request.groups
        return DescribeGroupsResponse(
            throttle_time_ms=0,
            groups=[
                DescribedGroup(
                    error_code=0,
                    error_message=None,
                    group_id=group,
                    group_state=self.state(group),
                    protocol_type="consumer",
                    protocol_data="range" if group in self.members else "",
                    members=[member(self.members[group])] if group in self.members else [],
                )
            ],
        )

    def _committed(self, _broker: int, request: Any) -> Any:
        return OffsetFetchResponse(
            throttle_time_ms=0,
            error_code=0,
            topics=[
                OffsetFetchResponseTopic(
                    name=topic,
                    partitions=[
                        OffsetFetchResponsePartition(
                            partition_index=number,
                            committed_offset=offset,
                            metadata="",
                            error_code=0,
                        )
                    ],
                )
                for (topic, number), offset in self.offsets.get(request.group_id, {}).items()
            ],
        )

    def _commit(self, _broker: int, request: Any) -> Any:
        for topic in request.topics:
            for each in topic.partitions:
                tp = TopicPartition(topic.name, each.partition_index)
                self.offsets.setdefault(request.group_id, {})[tp] = each.committed_offset
        return OffsetCommitResponse(
            throttle_time_ms=0,
            topics=[
                OffsetCommitResponseTopic(
                    name=topic.name,
                    partitions=[
                        OffsetCommitResponsePartition(
                            partition_index=each.partition_index, error_code=0
                        )
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ],
        )

    def _delete_offsets(self, _broker: int, request: Any) -> Any:
        if request.group_id not in self.offsets:
            return OffsetDeleteResponse(
                error_code=ErrorCode.GROUP_ID_NOT_FOUND, throttle_time_ms=0, topics=[]
            )
        for topic in request.topics:
            for each in topic.partitions:
                tp = TopicPartition(topic.name, each.partition_index)
                self.offsets[request.group_id].pop(tp, None)
        return OffsetDeleteResponse(
            error_code=0,
            throttle_time_ms=0,
            topics=[
                OffsetDeleteResponseTopic(
                    name=topic.name,
                    partitions=[
                        OffsetDeleteResponsePartition(
                            partition_index=each.partition_index, error_code=0
                        )
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ],
        )

    def _delete(self, _broker: int, request: Any) -> Any:
        (group,) = request.groups_names
        codes = {"Stable": ErrorCode.NON_EMPTY_GROUP, "Dead": ErrorCode.GROUP_ID_NOT_FOUND}
        code = codes.get(self.state(group), ErrorCode.NONE)
        if code is ErrorCode.NONE:
            del self.offsets[group]
        return DeleteGroupsResponse(
            throttle_time_ms=0, results=[DeletableGroupResult(group_id=group, error_code=code)]
        )

    def _log_offsets(self, _broker: int, request: Any) -> Any:
        def offset(timestamp: int) -> int:
            if timestamp in (EARLIEST, LATEST):
                return 2 if timestamp == EARLIEST else 10
            return 6 if timestamp <= 5000 else -1

        return ListOffsetsResponse(
            throttle_time_ms=0,
            topics=[
                ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=[
                        ListOffsetsPartitionResponse(
                            partition_index=each.partition_index,
                            error_code=0,
                            offset=offset(each.timestamp),
                        )
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ],
        )


def member(partitions: list[TopicPartition]) -> DescribedGroupMember:
    assigned = [
        ConsumerProtocolAssignmentTopicPartition(topic=topic, partitions=[number])
        for topic, number in partitions
    ]
    return DescribedGroupMember(
        member_id="me-1",
        client_id="me",
        client_host="/127.0.0.1",
        member_metadata=b"",
        member_assignment=encode_versioned(
            ConsumerProtocolAssignment(assigned_partitions=assigned), 0
        ),
    )
