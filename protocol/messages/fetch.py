"""Messages of Fetch (1)."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.wire.table import RECORDS, STRING, Records, array, field, message, struct
from protocol.wire.types import INT8, INT16, INT32, INT64, UUID


@struct
class ReplicaState:
    """Part of FetchRequest."""

    replica_id: int = field(INT32, "15+", default=-1)
    replica_epoch: int = field(INT64, "15+", default=-1)


@struct
class FetchPartition:
    """Part of FetchRequest."""

    partition: int = field(INT32)
    current_leader_epoch: int = field(INT32, "9+", default=-1, ignorable=True)
    fetch_offset: int = field(INT64)
    last_fetched_epoch: int = field(INT32, "12+", default=-1)
    log_start_offset: int = field(INT64, "5+", default=-1, ignorable=True)
    partition_max_bytes: int = field(INT32)
    replica_directory_id: bytes = field(UUID, "17+", tag=0, ignorable=True)
    high_watermark: int = field(INT64, "18+", default=2**63 - 1, tag=1, ignorable=True)


@struct
class FetchTopic:
    """Part of FetchRequest."""

    topic: str = field(STRING, "0-12", ignorable=True)
    topic_id: bytes = field(UUID, "13+", ignorable=True)
    partitions: Sequence[FetchPartition] = field(array(FetchPartition))


@struct
class ForgottenTopic:
    """Part of FetchRequest."""

    topic: str = field(STRING, "7-12", ignorable=True)
    topic_id: bytes = field(UUID, "13+", ignorable=True)
    partitions: Sequence[int] = field(array(INT32), "7+")


@message(1, "request", versions="0-18", flexible="12+")
class FetchRequest:
    """Source: FetchRequest.json."""

    cluster_id: str | None = field(
        STRING, "12+", default=None, nullable="12+", tag=0, ignorable=True
    )
    replica_id: int = field(INT32, "0-14", default=-1)
    replica_state: ReplicaState = field(ReplicaState, "15+", tag=1)
    max_wait_ms: int = field(INT32)
    min_bytes: int = field(INT32)
    max_bytes: int = field(INT32, "3+", default=2**31 - 1, ignorable=True)
    isolation_level: int = field(INT8, "4+", ignorable=True)
    session_id: int = field(INT32, "7+", ignorable=True)
    session_epoch: int = field(INT32, "7+", default=-1, ignorable=True)
    topics: Sequence[FetchTopic] = field(array(FetchTopic))
    forgotten_topics_data: Sequence[ForgottenTopic] = field(array(ForgottenTopic), "7+")
    rack_id: str = field(STRING, "11+", default="", ignorable=True)


@struct
class EpochEndOffset:
    """Part of FetchResponse."""

    epoch: int = field(INT32, "12+", default=-1)
    end_offset: int = field(INT64, "12+", default=-1)


@struct
class LeaderIdAndEpoch:
    """Part of FetchResponse."""

    leader_id: int = field(INT32, "12+", default=-1)
    leader_epoch: int = field(INT32, "12+", default=-1)


@struct
class SnapshotId:
    """Part of FetchResponse."""

    end_offset: int = field(INT64, default=-1)
    epoch: int = field(INT32, default=-1)


@struct
class AbortedTransaction:
    """Part of FetchResponse."""

    producer_id: int = field(INT64, "4+")
    first_offset: int = field(INT64, "4+")


@struct
class PartitionData:
    """Part of FetchResponse."""

    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    high_watermark: int = field(INT64)
    last_stable_offset: int = field(INT64, "4+", default=-1, ignorable=True)
    log_start_offset: int = field(INT64, "5+", default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset = field(EpochEndOffset, "12+", tag=0)
    current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch, "12+", tag=1)
    snapshot_id: SnapshotId = field(SnapshotId, "12+", tag=2)
    aborted_transactions: Sequence[AbortedTransaction] | None = field(
        array(AbortedTransaction), "4+", nullable="4+", ignorable=True
    )
    preferred_read_replica: int = field(INT32, "11+", default=-1)
    records: Records | None = field(RECORDS, nullable="0+")


@struct
class FetchableTopicResponse:
    """Part of FetchResponse."""

    topic: str = field(STRING, "0-12", ignorable=True)
    topic_id: bytes = field(UUID, "13+", ignorable=True)
    partitions: Sequence[PartitionData] = field(array(PartitionData))


@struct
class NodeEndpoint:
    """Part of FetchResponse."""

    node_id: int = field(INT32, "16+")
    host: str = field(STRING, "16+")
    port: int = field(INT32, "16+")
    rack: str | None = field(STRING, "16+", default=None, nullable="16+")


@message(1, "response", versions="0-18", flexible="12+")
class FetchResponse:
    """Source: FetchResponse.json."""

    throttle_time_ms: int = field(INT32, "1+", ignorable=True)
    error_code: int = field(INT16, "7+", ignorable=True)
    session_id: int = field(INT32, "7+")
    responses: Sequence[FetchableTopicResponse] = field(array(FetchableTopicResponse))
    node_endpoints: Sequence[NodeEndpoint] = field(array(NodeEndpoint), "16+", tag=0)
