"""Messages of ListOffsets (2), OffsetForLeaderEpoch (23)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from protocol.wire.table import STRING, array, field, message, struct
from protocol.wire.types import INT8, INT16, INT32, INT64

LATEST: Final = -1
"""This and the next ones are asked for in place of a timestamp."""
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
CONSUMER: Final = -1
"""A replica id; 0 and above are followers."""
DEBUGGING: Final = -2
"""The replica id of tools: answered by any replica, up to the end of its own log."""


@struct
class ListOffsetsPartition:
    partition_index: int = field(INT32)
    current_leader_epoch: int = field(INT32, "4+", default=-1, ignorable=True)
    timestamp: int = field(INT64)
    """The first record not older; or ``LATEST``, ``EARLIEST``, ... ."""
    max_num_offsets: int = field(INT32, "0", default=1)


@struct
class ListOffsetsTopic:
    name: str = field(STRING)
    partitions: Sequence[ListOffsetsPartition] = field(array(ListOffsetsPartition))


@message(2, "request", versions="0-11", flexible="6+")
class ListOffsetsRequest:
    """Source: ListOffsetsRequest.json."""

    replica_id: int = field(INT32)
    """The id of the follower; -1 for a consumer, -2 for a debugging one."""
    isolation_level: int = field(INT8, "2+")
    """0: up to the high watermark; 1: up to the last stable offset."""
    topics: Sequence[ListOffsetsTopic] = field(array(ListOffsetsTopic))
    timeout_ms: int = field(INT32, "10+", ignorable=True)


@struct
class ListOffsetsPartitionResponse:
    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    old_style_offsets: Sequence[int] = field(array(INT64), "0")
    """Version 0: starts of segments, newest first."""
    timestamp: int = field(INT64, "1+", default=-1)
    offset: int = field(INT64, "1+", default=-1)
    leader_epoch: int = field(INT32, "4+", default=-1)


@struct
class ListOffsetsTopicResponse:
    name: str = field(STRING)
    partitions: Sequence[ListOffsetsPartitionResponse] = field(array(ListOffsetsPartitionResponse))


@message(2, "response", versions="0-11", flexible="6+")
class ListOffsetsResponse:
    """Source: ListOffsetsResponse.json."""

    throttle_time_ms: int = field(INT32, "2+", ignorable=True)
    topics: Sequence[ListOffsetsTopicResponse] = field(array(ListOffsetsTopicResponse))


@struct
class OffsetForLeaderPartition:
    partition: int = field(INT32)
    current_leader_epoch: int = field(INT32, "2+", default=-1, ignorable=True)
    leader_epoch: int = field(INT32)
    """The epoch whose end is asked for."""


@struct
class OffsetForLeaderTopic:
    topic: str = field(STRING)
    partitions: Sequence[OffsetForLeaderPartition] = field(array(OffsetForLeaderPartition))


@message(23, "request", versions="0-4", flexible="4+")
class OffsetForLeaderEpochRequest:
    """Source: OffsetForLeaderEpochRequest.json."""

    replica_id: int = field(INT32, "3+", default=-2, ignorable=True)
    """The id of the follower; -1 for a consumer, -2 for a debugging one."""
    topics: Sequence[OffsetForLeaderTopic] = field(array(OffsetForLeaderTopic))


@struct
class EpochEndOffset:
    error_code: int = field(INT16)
    partition: int = field(INT32)
    leader_epoch: int = field(INT32, "1+", default=-1, ignorable=True)
    """The largest epoch not above the one asked for; -1 when there is none."""
    end_offset: int = field(INT64, default=-1)
    """The offset behind the last record of that epoch; -1 when there is none."""


@struct
class OffsetForLeaderTopicResult:
    topic: str = field(STRING)
    partitions: Sequence[EpochEndOffset] = field(array(EpochEndOffset))


@message(23, "response", versions="0-4", flexible="4+")
class OffsetForLeaderEpochResponse:
    """Source: OffsetForLeaderEpochResponse.json."""

    throttle_time_ms: int = field(INT32, "2+", ignorable=True)
    topics: Sequence[OffsetForLeaderTopicResult] = field(array(OffsetForLeaderTopicResult))
