"""Messages of ConsumerGroupHeartbeat (68), ConsumerGroupDescribe (69)."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.wire.table import STRING, array, field, message, struct
from protocol.wire.types import BOOL, INT8, INT16, INT32, UUID


@struct
class TopicPartitions:
    topic_id: bytes = field(UUID)
    partitions: Sequence[int] = field(array(INT32))


@message(68, "request", versions="0-1", flexible="0+")
class ConsumerGroupHeartbeatRequest:
    """Source: ConsumerGroupHeartbeatRequest.json."""

    group_id: str = field(STRING)
    member_id: str = field(STRING)
    member_epoch: int = field(INT32)
    """0 to join, -1 to leave, -2 to leave for a while as a static member."""
    instance_id: str | None = field(STRING, default=None, nullable="0+")
    rack_id: str | None = field(STRING, default=None, nullable="0+")
    rebalance_timeout_ms: int = field(INT32, default=-1)
    """-1 for no change since the last heartbeat."""
    subscribed_topic_names: Sequence[str] | None = field(array(STRING), default=None, nullable="0+")
    """None for no change."""
    subscribed_topic_regex: str | None = field(STRING, "1+", default=None, nullable="1+")
    server_assignor: str | None = field(STRING, default=None, nullable="0+")
    topic_partitions: Sequence[TopicPartitions] | None = field(
        array(TopicPartitions), default=None, nullable="0+"
    )
    """What the member has; None for no change."""


@struct
class Assignment:
    topic_partitions: Sequence[TopicPartitions] = field(array(TopicPartitions))


@message(68, "response", versions="0-1", flexible="0+")
class ConsumerGroupHeartbeatResponse:
    """Source: ConsumerGroupHeartbeatResponse.json."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, default=None, nullable="0+")
    member_id: str | None = field(STRING, default=None, nullable="0+")
    member_epoch: int = field(INT32)
    heartbeat_interval_ms: int = field(INT32)
    assignment: Assignment | None = field(Assignment, default=None, nullable="0+")
    """None for no change."""


@message(69, "request", versions="0-1", flexible="0+")
class ConsumerGroupDescribeRequest:
    """Source: ConsumerGroupDescribeRequest.json."""

    group_ids: Sequence[str] = field(array(STRING))
    include_authorized_operations: bool = field(BOOL)


@struct
class ConsumerGroupDescribeResponseTopicPartitions:
    topic_id: bytes = field(UUID)
    topic_name: str = field(STRING)
    partitions: Sequence[int] = field(array(INT32))


@struct
class ConsumerGroupDescribeResponseAssignment:
    topic_partitions: Sequence[ConsumerGroupDescribeResponseTopicPartitions] = field(
        array(ConsumerGroupDescribeResponseTopicPartitions)
    )


@struct
class Member:
    member_id: str = field(STRING)
    instance_id: str | None = field(STRING, default=None, nullable="0+")
    rack_id: str | None = field(STRING, default=None, nullable="0+")
    member_epoch: int = field(INT32)
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    subscribed_topic_names: Sequence[str] = field(array(STRING))
    subscribed_topic_regex: str | None = field(STRING, default=None, nullable="0+")
    assignment: ConsumerGroupDescribeResponseAssignment = field(
        ConsumerGroupDescribeResponseAssignment
    )
    target_assignment: ConsumerGroupDescribeResponseAssignment = field(
        ConsumerGroupDescribeResponseAssignment
    )
    member_type: int = field(INT8, "1+", default=-1, ignorable=True)


@struct
class DescribedGroup:
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, default=None, nullable="0+")
    group_id: str = field(STRING)
    group_state: str = field(STRING)
    group_epoch: int = field(INT32)
    assignment_epoch: int = field(INT32)
    assignor_name: str = field(STRING)
    members: Sequence[Member] = field(array(Member))
    authorized_operations: int = field(INT32, default=-(2**31))


@message(69, "response", versions="0-1", flexible="0+")
class ConsumerGroupDescribeResponse:
    """Source: ConsumerGroupDescribeResponse.json."""

    throttle_time_ms: int = field(INT32)
    groups: Sequence[DescribedGroup] = field(array(DescribedGroup))
