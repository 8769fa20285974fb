"""Messages of DescribeTopicPartitions (75)."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.wire.table import STRING, array, field, message, struct
from protocol.wire.types import BOOL, INT16, INT32, UUID


@struct
class TopicRequest:
    name: str = field(STRING)


@struct
class Cursor:
    topic_name: str = field(STRING)
    partition_index: int = field(INT32)


@message(75, "request", versions="0", flexible="0+")
class DescribeTopicPartitionsRequest:
    """Source: DescribeTopicPartitionsRequest.json."""

    topics: Sequence[TopicRequest] = field(array(TopicRequest))
    response_partition_limit: int = field(INT32, default=2000)
    cursor: Cursor | None = field(Cursor, default=None, nullable="0+")


@struct
class DescribeTopicPartitionsResponsePartition:
    error_code: int = field(INT16)
    partition_index: int = field(INT32)
    leader_id: int = field(INT32)
    leader_epoch: int = field(INT32, default=-1, ignorable=True)
    replica_nodes: Sequence[int] = field(array(INT32))
    isr_nodes: Sequence[int] = field(array(INT32))
    eligible_leader_replicas: Sequence[int] | None = field(
        array(INT32), default=None, nullable="0+"
    )
    last_known_elr: Sequence[int] | None = field(array(INT32), default=None, nullable="0+")
    offline_replicas: Sequence[int] = field(array(INT32), ignorable=True)


@struct
class DescribeTopicPartitionsResponseTopic:
    error_code: int = field(INT16)
    name: str | None = field(STRING, nullable="0+")
    topic_id: bytes = field(UUID, ignorable=True)
    is_internal: bool = field(BOOL, ignorable=True)
    partitions: Sequence[DescribeTopicPartitionsResponsePartition] = field(
        array(DescribeTopicPartitionsResponsePartition)
    )
    topic_authorized_operations: int = field(INT32, default=-(2**31))


@message(75, "response", versions="0", flexible="0+")
class DescribeTopicPartitionsResponse:
    """Source: DescribeTopicPartitionsResponse.json."""

    throttle_time_ms: int = field(INT32, ignorable=True)
    topics: Sequence[DescribeTopicPartitionsResponseTopic] = field(
        array(DescribeTopicPartitionsResponseTopic)
    )
    next_cursor: Cursor | None = field(Cursor, default=None, nullable="0+")
