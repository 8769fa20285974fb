"""Messages of DescribeCluster (60), DescribeQuorum (55), UpdateFeatures (57), Envelope (58)."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.ports import Buffer
from protocol.wire.table import BYTES, STRING, array, field, message, struct
from protocol.wire.types import BOOL, INT8, INT16, INT32, INT64, UINT16, UUID


@message(60, "request", versions="0-2", flexible="0+")
class DescribeClusterRequest:
    """Source: DescribeClusterRequest.json."""

    include_cluster_authorized_operations: bool = field(BOOL)
    endpoint_type: int = field(INT8, "1+", default=1)
    """1: brokers; 2: controllers."""
    include_fenced_brokers: bool = field(BOOL, "2+")


@struct
class DescribeClusterBroker:
    broker_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    rack: str | None = field(STRING, default=None, nullable="0+")
    is_fenced: bool = field(BOOL, "2+")


@message(60, "response", versions="0-2", flexible="0+")
class DescribeClusterResponse:
    """Source: DescribeClusterResponse.json."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, default=None, nullable="0+")
    endpoint_type: int = field(INT8, "1+", default=1)
    cluster_id: str = field(STRING)
    controller_id: int = field(INT32, default=-1)
    brokers: Sequence[DescribeClusterBroker] = field(array(DescribeClusterBroker))
    cluster_authorized_operations: int = field(INT32, default=-(2**31))
    """A bit per AclOperation; the smallest int32 when not asked for."""


@struct
class PartitionData:
    partition_index: int = field(INT32)


@struct
class TopicData:
    topic_name: str = field(STRING)
    partitions: Sequence[PartitionData] = field(array(PartitionData))


@message(55, "request", versions="0-2", flexible="0+")
class DescribeQuorumRequest:
    """Source: DescribeQuorumRequest.json."""

    topics: Sequence[TopicData] = field(array(TopicData))


@struct
class ReplicaState:
    replica_id: int = field(INT32)
    replica_directory_id: bytes = field(UUID, "2+")
    log_end_offset: int = field(INT64)
    last_fetch_timestamp: int = field(INT64, "1+", default=-1, ignorable=True)
    last_caught_up_timestamp: int = field(INT64, "1+", default=-1, ignorable=True)


@struct
class DescribeQuorumResponsePartitionData:
    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, "2+", nullable="2+", ignorable=True)
    leader_id: int = field(INT32)
    leader_epoch: int = field(INT32)
    high_watermark: int = field(INT64)
    current_voters: Sequence[ReplicaState] = field(array(ReplicaState))
    observers: Sequence[ReplicaState] = field(array(ReplicaState))


@struct
class DescribeQuorumResponseTopicData:
    topic_name: str = field(STRING)
    partitions: Sequence[DescribeQuorumResponsePartitionData] = field(
        array(DescribeQuorumResponsePartitionData)
    )


@struct
class Listener:
    name: str = field(STRING, "2+")
    host: str = field(STRING, "2+")
    port: int = field(UINT16, "2+")


@struct
class Node:
    node_id: int = field(INT32, "2+")
    listeners: Sequence[Listener] = field(array(Listener), "2+")


@message(55, "response", versions="0-2", flexible="0+")
class DescribeQuorumResponse:
    """Source: DescribeQuorumResponse.json."""

    error_code: int = field(INT16)
    error_message: str | None = field(STRING, "2+", nullable="2+", ignorable=True)
    topics: Sequence[DescribeQuorumResponseTopicData] = field(
        array(DescribeQuorumResponseTopicData)
    )
    nodes: Sequence[Node] = field(array(Node), "2+")


@struct
class FeatureUpdateKey:
    feature: str = field(STRING)
    max_version_level: int = field(INT16)
    """0 takes the feature away."""
    allow_downgrade: bool = field(BOOL, "0")
    upgrade_type: int = field(INT8, "1+", default=1)
    """1 upgrade, 2 safe downgrade, 3 unsafe downgrade."""


@message(57, "request", versions="0-2", flexible="0+")
class UpdateFeaturesRequest:
    """Source: UpdateFeaturesRequest.json."""

    timeout_ms: int = field(INT32, default=60000)
    feature_updates: Sequence[FeatureUpdateKey] = field(array(FeatureUpdateKey))
    validate_only: bool = field(BOOL, "1+")


@struct
class UpdatableFeatureResult:
    feature: str = field(STRING)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")


@message(57, "response", versions="0-2", flexible="0+")
class UpdateFeaturesResponse:
    """Source: UpdateFeaturesResponse.json."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    results: Sequence[UpdatableFeatureResult] = field(
        array(UpdatableFeatureResult), "0-1", ignorable=True
    )


@message(58, "request", versions="0", flexible="0+")
class EnvelopeRequest:
    """Source: EnvelopeRequest.json."""

    request_data: Buffer = field(BYTES)
    """The header and body of the request that is passed on."""
    request_principal: Buffer | None = field(BYTES, nullable="0+")
    client_host_address: Buffer = field(BYTES)


@message(58, "response", versions="0", flexible="0+")
class EnvelopeResponse:
    """Source: EnvelopeResponse.json."""

    response_data: Buffer | None = field(BYTES, default=None, nullable="0+")
    """The header and body of the answer."""
    error_code: int = field(INT16)
