"""Messages of Metadata (3)."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.wire.table import STRING, array, field, message, struct
from protocol.wire.types import BOOL, INT16, INT32, UUID


@struct
class MetadataRequestTopic:
    topic_id: bytes = field(UUID, "10+", ignorable=True)
    name: str | None = field(STRING, nullable="10+")
    """None when the topic is asked for by its id (version 12 on)."""


@message(3, "request", versions="0-13", flexible="9+")
class MetadataRequest:
    """Source: MetadataRequest.json."""

    topics: Sequence[MetadataRequestTopic] | None = field(
        array(MetadataRequestTopic), nullable="1+"
    )
    """All topics: empty in version 0, None from version 1 on, where empty is none."""
    allow_auto_topic_creation: bool = field(BOOL, "4+", default=True)
    include_cluster_authorized_operations: bool = field(BOOL, "8-10")
    include_topic_authorized_operations: bool = field(BOOL, "8+")


@struct
class MetadataResponseBroker:
    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    rack: str | None = field(STRING, "1+", default=None, nullable="1+", ignorable=True)


@struct
class MetadataResponsePartition:
    error_code: int = field(INT16)
    partition_index: int = field(INT32)
    leader_id: int = field(INT32)
    """-1 when there is none."""
    leader_epoch: int = field(INT32, "7+", default=-1, ignorable=True)
    replica_nodes: Sequence[int] = field(array(INT32))
    isr_nodes: Sequence[int] = field(array(INT32))
    offline_replicas: Sequence[int] = field(array(INT32), "5+", ignorable=True)
    """Replicas on dead brokers and in failed log dirs (KIP-112)."""


@struct
class MetadataResponseTopic:
    error_code: int = field(INT16)
    name: str | None = field(STRING, nullable="12+")
    topic_id: bytes = field(UUID, "10+", ignorable=True)
    is_internal: bool = field(BOOL, "1+", ignorable=True)
    partitions: Sequence[MetadataResponsePartition] = field(array(MetadataResponsePartition))
    topic_authorized_operations: int = field(INT32, "8+", default=-(2**31))
    """A bit per AclOperation; the smallest int32 when not asked for."""


@message(3, "response", versions="0-13", flexible="9+")
class MetadataResponse:
    """Source: MetadataResponse.json."""

    throttle_time_ms: int = field(INT32, "3+", ignorable=True)
    brokers: Sequence[MetadataResponseBroker] = field(array(MetadataResponseBroker))
    cluster_id: str | None = field(STRING, "2+", default=None, nullable="2+", ignorable=True)
    controller_id: int = field(INT32, "1+", default=-1, ignorable=True)
    """Where to send administrative requests; -1 when unknown."""
    topics: Sequence[MetadataResponseTopic] = field(array(MetadataResponseTopic))
    cluster_authorized_operations: int = field(INT32, "8-10", default=-(2**31))
    """A bit per AclOperation; the smallest int32 when not asked for."""
    error_code: int = field(INT16, "13+", ignorable=True)
