"""Messages of OffsetCommit (8), OffsetFetch (9), OffsetDelete (47)."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.wire.table import STRING, array, field, message, struct
from protocol.wire.types import BOOL, INT16, INT32, INT64, UUID


@struct
class OffsetCommitRequestPartition:
    partition_index: int = field(INT32)
    committed_offset: int = field(INT64)
    committed_leader_epoch: int = field(INT32, "6+", default=-1, ignorable=True)
    commit_timestamp: int = field(INT64, "1", default=-1)
    committed_metadata: str | None = field(STRING, nullable="0+")


@struct
class OffsetCommitRequestTopic:
    name: str = field(STRING, "0-9", ignorable=True)
    topic_id: bytes = field(UUID, "10+", ignorable=True)
    partitions: Sequence[OffsetCommitRequestPartition] = field(array(OffsetCommitRequestPartition))


@message(8, "request", versions="0-10", flexible="8+")
class OffsetCommitRequest:
    """Source: OffsetCommitRequest.json."""

    group_id: str = field(STRING)
    generation_id_or_member_epoch: int = field(INT32, "1+", default=-1, ignorable=True)
    """-1 for a client outside of the group."""
    member_id: str = field(STRING, "1+", ignorable=True)
    group_instance_id: str | None = field(STRING, "7+", default=None, nullable="7+")
    retention_time_ms: int = field(INT64, "2-4", default=-1, ignorable=True)
    topics: Sequence[OffsetCommitRequestTopic] = field(array(OffsetCommitRequestTopic))


@struct
class OffsetCommitResponsePartition:
    partition_index: int = field(INT32)
    error_code: int = field(INT16)


@struct
class OffsetCommitResponseTopic:
    name: str = field(STRING, "0-9", ignorable=True)
    topic_id: bytes = field(UUID, "10+", ignorable=True)
    partitions: Sequence[OffsetCommitResponsePartition] = field(
        array(OffsetCommitResponsePartition)
    )


@message(8, "response", versions="0-10", flexible="8+")
class OffsetCommitResponse:
    """Source: OffsetCommitResponse.json."""

    throttle_time_ms: int = field(INT32, "3+", ignorable=True)
    topics: Sequence[OffsetCommitResponseTopic] = field(array(OffsetCommitResponseTopic))


@struct
class OffsetFetchRequestTopic:
    name: str = field(STRING, "0-7")
    partition_indexes: Sequence[int] = field(array(INT32), "0-7")


@struct
class OffsetFetchRequestTopics:
    name: str = field(STRING, "8-9", ignorable=True)
    topic_id: bytes = field(UUID, "10+", ignorable=True)
    partition_indexes: Sequence[int] = field(array(INT32), "8+")


@struct
class OffsetFetchRequestGroup:
    group_id: str = field(STRING, "8+")
    member_id: str | None = field(STRING, "9+", default=None, nullable="9+", ignorable=True)
    member_epoch: int = field(INT32, "9+", default=-1, ignorable=True)
    topics: Sequence[OffsetFetchRequestTopics] | None = field(
        array(OffsetFetchRequestTopics), "8+", nullable="8+"
    )
    """None for all."""


@message(9, "request", versions="0-10", flexible="6+")
class OffsetFetchRequest:
    """Source: OffsetFetchRequest.json."""

    group_id: str = field(STRING, "0-7")
    topics: Sequence[OffsetFetchRequestTopic] | None = field(
        array(OffsetFetchRequestTopic), "0-7", nullable="2-7"
    )
    """None for all."""
    groups: Sequence[OffsetFetchRequestGroup] = field(array(OffsetFetchRequestGroup), "8+")
    require_stable: bool = field(BOOL, "7+")
    """Fail while a transaction that may change an offset is open."""


@struct
class OffsetFetchResponsePartition:
    partition_index: int = field(INT32, "0-7")
    committed_offset: int = field(INT64, "0-7")
    committed_leader_epoch: int = field(INT32, "5-7", default=-1, ignorable=True)
    metadata: str | None = field(STRING, "0-7", nullable="0-7")
    error_code: int = field(INT16, "0-7")


@struct
class OffsetFetchResponseTopic:
    name: str = field(STRING, "0-7")
    partitions: Sequence[OffsetFetchResponsePartition] = field(
        array(OffsetFetchResponsePartition), "0-7"
    )


@struct
class OffsetFetchResponsePartitions:
    partition_index: int = field(INT32, "8+")
    committed_offset: int = field(INT64, "8+")
    committed_leader_epoch: int = field(INT32, "8+", default=-1, ignorable=True)
    metadata: str | None = field(STRING, "8+", nullable="8+")
    error_code: int = field(INT16, "8+")


@struct
class OffsetFetchResponseTopics:
    name: str = field(STRING, "8-9", ignorable=True)
    topic_id: bytes = field(UUID, "10+", ignorable=True)
    partitions: Sequence[OffsetFetchResponsePartitions] = field(
        array(OffsetFetchResponsePartitions), "8+"
    )


@struct
class OffsetFetchResponseGroup:
    group_id: str = field(STRING, "8+")
    topics: Sequence[OffsetFetchResponseTopics] = field(array(OffsetFetchResponseTopics), "8+")
    error_code: int = field(INT16, "8+")


@message(9, "response", versions="0-10", flexible="6+")
class OffsetFetchResponse:
    """Source: OffsetFetchResponse.json."""

    throttle_time_ms: int = field(INT32, "3+", ignorable=True)
    topics: Sequence[OffsetFetchResponseTopic] = field(array(OffsetFetchResponseTopic), "0-7")
    error_code: int = field(INT16, "2-7", ignorable=True)
    groups: Sequence[OffsetFetchResponseGroup] = field(array(OffsetFetchResponseGroup), "8+")


@struct
class OffsetDeleteRequestPartition:
    partition_index: int = field(INT32)


@struct
class OffsetDeleteRequestTopic:
    name: str = field(STRING)
    partitions: Sequence[OffsetDeleteRequestPartition] = field(array(OffsetDeleteRequestPartition))


@message(47, "request", versions="0")
class OffsetDeleteRequest:
    """Source: OffsetDeleteRequest.json."""

    group_id: str = field(STRING)
    topics: Sequence[OffsetDeleteRequestTopic] = field(array(OffsetDeleteRequestTopic))


@struct
class OffsetDeleteResponsePartition:
    partition_index: int = field(INT32)
    error_code: int = field(INT16)


@struct
class OffsetDeleteResponseTopic:
    name: str = field(STRING)
    partitions: Sequence[OffsetDeleteResponsePartition] = field(
        array(OffsetDeleteResponsePartition)
    )


@message(47, "response", versions="0")
class OffsetDeleteResponse:
    """Source: OffsetDeleteResponse.json."""

    error_code: int = field(INT16)
    throttle_time_ms: int = field(INT32, ignorable=True)
    topics: Sequence[OffsetDeleteResponseTopic] = field(array(OffsetDeleteResponseTopic))
