"""Messages of Fetch (1)."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.wire.table import RECORDS, STRING, Records, array, field, message, struct
from protocol.wire.types import INT8, INT16, INT32, INT64, UUID


@struct
class ReplicaState:
    replica_id: int = field(INT32, "15+", default=-1)
    """The id of the follower; -1 for a consumer."""
    replica_epoch: int = field(INT64, "15+", default=-1)
    """The follower's broker epoch; -1 when it does not know it yet."""


@struct
class FetchPartition:
    partition: int = field(INT32)
    current_leader_epoch: int = field(INT32, "9+", default=-1, ignorable=True)
    """What the fetcher believes; an older or newer one is fenced. -1: no check."""
    fetch_offset: int = field(INT64)
    last_fetched_epoch: int = field(INT32, "12+", default=-1)
    """Epoch of the follower's last batch; the leader answers where logs diverge."""
    log_start_offset: int = field(INT64, "5+", default=-1, ignorable=True)
    """The follower's; -1 from a consumer."""
    partition_max_bytes: int = field(INT32)
    replica_directory_id: bytes = field(UUID, "17+", tag=0, ignorable=True)
    """The log dir that the follower is in (KRaft voters)."""
    high_watermark: int = field(INT64, "18+", default=2**63 - 1, tag=1, ignorable=True)
    """What the follower knows; the largest int64 when it does not say."""


@struct
class FetchTopic:
    topic: str = field(STRING, "0-12", ignorable=True)
    topic_id: bytes = field(UUID, "13+", ignorable=True)
    partitions: Sequence[FetchPartition] = field(array(FetchPartition))


@struct
class ForgottenTopic:
    topic: str = field(STRING, "7-12", ignorable=True)
    topic_id: bytes = field(UUID, "13+", ignorable=True)
    partitions: Sequence[int] = field(array(INT32), "7+")


@message(1, "request", versions="0-18", flexible="12+")
class FetchRequest:
    """Source: FetchRequest.json."""

    cluster_id: str | None = field(
        STRING, "12+", default=None, nullable="12+", tag=0, ignorable=True
    )
    """KRaft only; None from consumers and brokers."""
    replica_id: int = field(INT32, "0-14", default=-1)
    """The id of the follower; -1 for a consumer, -2 for a debugging one."""
    replica_state: ReplicaState = field(ReplicaState, "15+", tag=1)
    """Takes the place of ``replica_id`` from version 15 on."""
    max_wait_ms: int = field(INT32)
    min_bytes: int = field(INT32)
    max_bytes: int = field(INT32, "3+", default=2**31 - 1, ignorable=True)
    """Of the whole response; one batch is sent whatever its size."""
    isolation_level: int = field(INT8, "4+", ignorable=True)
    """0: up to the high watermark; 1: up to the last stable offset."""
    session_id: int = field(INT32, "7+", ignorable=True)
    """KIP-227; 0 without a session."""
    session_epoch: int = field(INT32, "7+", default=-1, ignorable=True)
    """-1: no session; 0: make a new one; else the next number of the session."""
    topics: Sequence[FetchTopic] = field(array(FetchTopic))
    """All partitions of a full request, the changed ones of an incremental one."""
    forgotten_topics_data: Sequence[ForgottenTopic] = field(array(ForgottenTopic), "7+")
    """Partitions to drop from the session."""
    rack_id: str = field(STRING, "11+", default="", ignorable=True)
    """Where the consumer is, for reading from a follower (KIP-392)."""


@struct
class EpochEndOffset:
    epoch: int = field(INT32, "12+", default=-1)
    end_offset: int = field(INT64, "12+", default=-1)


@struct
class LeaderIdAndEpoch:
    leader_id: int = field(INT32, "12+", default=-1)
    leader_epoch: int = field(INT32, "12+", default=-1)


@struct
class SnapshotId:
    end_offset: int = field(INT64, default=-1)
    epoch: int = field(INT32, default=-1)


@struct
class AbortedTransaction:
    producer_id: int = field(INT64, "4+")
    first_offset: int = field(INT64, "4+")


@struct
class PartitionData:
    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    high_watermark: int = field(INT64)
    last_stable_offset: int = field(INT64, "4+", default=-1, ignorable=True)
    log_start_offset: int = field(INT64, "5+", default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset = field(EpochEndOffset, "12+", tag=0)
    """Set when the logs differ: where the epoch that both know ends."""
    current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch, "12+", tag=1)
    """Set when the fetcher asked the wrong broker or epoch."""
    snapshot_id: SnapshotId = field(SnapshotId, "12+", tag=2)
    """KRaft only."""
    aborted_transactions: Sequence[AbortedTransaction] | None = field(
        array(AbortedTransaction), "4+", nullable="4+", ignorable=True
    )
    """None unless the fetcher reads committed records only."""
    preferred_read_replica: int = field(INT32, "11+", default=-1)
    """Where the consumer should read instead; -1 for here."""
    records: Records | None = field(RECORDS, nullable="0+")


@struct
class FetchableTopicResponse:
    topic: str = field(STRING, "0-12", ignorable=True)
    topic_id: bytes = field(UUID, "13+", ignorable=True)
    partitions: Sequence[PartitionData] = field(array(PartitionData))


@struct
class NodeEndpoint:
    node_id: int = field(INT32, "16+")
    host: str = field(STRING, "16+")
    port: int = field(INT32, "16+")
    rack: str | None = field(STRING, "16+", default=None, nullable="16+")


@message(1, "response", versions="0-18", flexible="12+")
class FetchResponse:
    """Source: FetchResponse.json."""

    throttle_time_ms: int = field(INT32, "1+", ignorable=True)
    error_code: int = field(INT16, "7+", ignorable=True)
    """Of the session as a whole."""
    session_id: int = field(INT32, "7+")
    """0 when there is no session."""
    responses: Sequence[FetchableTopicResponse] = field(array(FetchableTopicResponse))
    node_endpoints: Sequence[NodeEndpoint] = field(array(NodeEndpoint), "16+", tag=0)
    """Where the current leaders listen."""
