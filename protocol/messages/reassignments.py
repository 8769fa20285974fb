"""Messages of AlterPartitionReassignments (45), ListPartitionReassignments (46)."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.wire.table import STRING, array, field, message, struct
from protocol.wire.types import BOOL, INT16, INT32


@struct
class ReassignablePartition:
    partition_index: int = field(INT32)
    replicas: Sequence[int] | None = field(array(INT32), default=None, nullable="0+")
    """The new assignment; None cancels the reassignment that is going on."""


@struct
class ReassignableTopic:
    name: str = field(STRING)
    partitions: Sequence[ReassignablePartition] = field(array(ReassignablePartition))


@message(45, "request", versions="0-1", flexible="0+")
class AlterPartitionReassignmentsRequest:
    """Source: AlterPartitionReassignmentsRequest.json."""

    timeout_ms: int = field(INT32, default=60000)
    allow_replication_factor_change: bool = field(BOOL, "1+", default=True)
    topics: Sequence[ReassignableTopic] = field(array(ReassignableTopic))


@struct
class ReassignablePartitionResponse:
    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")


@struct
class ReassignableTopicResponse:
    name: str = field(STRING)
    partitions: Sequence[ReassignablePartitionResponse] = field(
        array(ReassignablePartitionResponse)
    )


@message(45, "response", versions="0-1", flexible="0+")
class AlterPartitionReassignmentsResponse:
    """Source: AlterPartitionReassignmentsResponse.json."""

    throttle_time_ms: int = field(INT32)
    allow_replication_factor_change: bool = field(BOOL, "1+", default=True, ignorable=True)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    responses: Sequence[ReassignableTopicResponse] = field(array(ReassignableTopicResponse))


@struct
class ListPartitionReassignmentsTopics:
    name: str = field(STRING)
    partition_indexes: Sequence[int] = field(array(INT32))


@message(46, "request", versions="0", flexible="0+")
class ListPartitionReassignmentsRequest:
    """Source: ListPartitionReassignmentsRequest.json."""

    timeout_ms: int = field(INT32, default=60000)
    topics: Sequence[ListPartitionReassignmentsTopics] | None = field(
        array(ListPartitionReassignmentsTopics), default=None, nullable="0+"
    )
    """None for all."""


@struct
class OngoingPartitionReassignment:
    partition_index: int = field(INT32)
    replicas: Sequence[int] = field(array(INT32))
    adding_replicas: Sequence[int] = field(array(INT32))
    removing_replicas: Sequence[int] = field(array(INT32))


@struct
class OngoingTopicReassignment:
    name: str = field(STRING)
    partitions: Sequence[OngoingPartitionReassignment] = field(array(OngoingPartitionReassignment))


@message(46, "response", versions="0", flexible="0+")
class ListPartitionReassignmentsResponse:
    """Source: ListPartitionReassignmentsResponse.json."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    topics: Sequence[OngoingTopicReassignment] = field(array(OngoingTopicReassignment))
