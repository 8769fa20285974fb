"""Records of ``__consumer_offsets`` about groups of the consumer protocol (KIP-848).

What precedes a key (its record type) and a value (its version): ``protocol.stored_records``.
"""

from __future__ import annotations

from collections.abc import Sequence

from protocol.ports import Buffer
from protocol.wire.table import BYTES, STRING, array, field, message, struct
from protocol.wire.types import INT8, INT32, INT64, UUID


@message(3, "coordinator-key", versions="0")
class ConsumerGroupMetadataKey:
    """Source: ConsumerGroupMetadataKey.json."""

    group_id: str = field(STRING)


@message(3, "coordinator-value", versions="0", flexible="0+")
class ConsumerGroupMetadataValue:
    """Source: ConsumerGroupMetadataValue.json."""

    epoch: int = field(INT32)
    metadata_hash: int = field(INT64, tag=0)
    """Of all topics that the group subscribes to; takes the place of record 4 (KIP-1101)."""


@message(4, "coordinator-key", versions="0")
class ConsumerGroupPartitionMetadataKey:
    """Source: ConsumerGroupPartitionMetadataKey.json."""

    group_id: str = field(STRING)


@struct
class PartitionMetadata:
    partition: int = field(INT32)
    racks: Sequence[str] = field(array(STRING))
    """Not used since 4.0."""


@struct
class TopicMetadata:
    topic_id: bytes = field(UUID)
    topic_name: str = field(STRING)
    num_partitions: int = field(INT32)
    partition_metadata: Sequence[PartitionMetadata] = field(array(PartitionMetadata))


@message(4, "coordinator-value", versions="0", flexible="0+")
class ConsumerGroupPartitionMetadataValue:
    """Source: ConsumerGroupPartitionMetadataValue.json."""

    topics: Sequence[TopicMetadata] = field(array(TopicMetadata))


@message(5, "coordinator-key", versions="0")
class ConsumerGroupMemberMetadataKey:
    """Source: ConsumerGroupMemberMetadataKey.json."""

    group_id: str = field(STRING)
    member_id: str = field(STRING)


@struct
class ClassicProtocol:
    name: str = field(STRING)
    metadata: Buffer = field(BYTES)
    """A ConsumerProtocolSubscription after its version."""


@struct
class ClassicMemberMetadata:
    session_timeout_ms: int = field(INT32)
    supported_protocols: Sequence[ClassicProtocol] = field(array(ClassicProtocol))


@message(5, "coordinator-value", versions="0", flexible="0+")
class ConsumerGroupMemberMetadataValue:
    """Source: ConsumerGroupMemberMetadataValue.json."""

    instance_id: str | None = field(STRING, nullable="0+")
    """Names a static member."""
    rack_id: str | None = field(STRING, nullable="0+")
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    subscribed_topic_names: Sequence[str] = field(array(STRING))
    subscribed_topic_regex: str | None = field(STRING, nullable="0+")
    rebalance_timeout_ms: int = field(INT32, default=-1)
    server_assignor: str | None = field(STRING, nullable="0+")
    """None leaves the choice to the coordinator."""
    classic_member_metadata: ClassicMemberMetadata | None = field(
        ClassicMemberMetadata, nullable="0+", tag=0
    )
    """None when the member speaks the consumer protocol."""


@message(6, "coordinator-key", versions="0")
class ConsumerGroupTargetAssignmentMetadataKey:
    """Source: ConsumerGroupTargetAssignmentMetadataKey.json."""

    group_id: str = field(STRING)


@message(6, "coordinator-value", versions="0", flexible="0+")
class ConsumerGroupTargetAssignmentMetadataValue:
    """Source: ConsumerGroupTargetAssignmentMetadataValue.json."""

    assignment_epoch: int = field(INT32)
    assignment_timestamp: int = field(INT64, tag=0, ignorable=True)
    """When the assignment had been computed (KIP-1263)."""


@message(7, "coordinator-key", versions="0")
class ConsumerGroupTargetAssignmentMemberKey:
    """Source: ConsumerGroupTargetAssignmentMemberKey.json."""

    group_id: str = field(STRING)
    member_id: str = field(STRING)


@struct
class TopicPartition:
    topic_id: bytes = field(UUID)
    partitions: Sequence[int] = field(array(INT32))


@message(7, "coordinator-value", versions="0", flexible="0+")
class ConsumerGroupTargetAssignmentMemberValue:
    """Source: ConsumerGroupTargetAssignmentMemberValue.json."""

    topic_partitions: Sequence[TopicPartition] = field(array(TopicPartition))


@message(8, "coordinator-key", versions="0")
class ConsumerGroupCurrentMemberAssignmentKey:
    """Source: ConsumerGroupCurrentMemberAssignmentKey.json."""

    group_id: str = field(STRING)
    member_id: str = field(STRING)


@struct
class TopicPartitions:
    topic_id: bytes = field(UUID)
    partitions: Sequence[int] = field(array(INT32))
    assignment_epochs: Sequence[int] | None = field(array(INT32), nullable="0+", tag=0)
    """When each partition was assigned; as many as ``partitions``."""


@message(8, "coordinator-value", versions="0", flexible="0+")
class ConsumerGroupCurrentMemberAssignmentValue:
    """Source: ConsumerGroupCurrentMemberAssignmentValue.json."""

    member_epoch: int = field(INT32)
    previous_member_epoch: int = field(INT32)
    state: int = field(INT8)
    """0 stable, 1 unrevoked partitions, 2 unreleased partitions, 127 unknown."""
    assigned_partitions: Sequence[TopicPartitions] = field(array(TopicPartitions))
    partitions_pending_revocation: Sequence[TopicPartitions] = field(array(TopicPartitions))


@message(16, "coordinator-key", versions="0")
class ConsumerGroupRegularExpressionKey:
    """Source: ConsumerGroupRegularExpressionKey.json."""

    group_id: str = field(STRING)
    regular_expression: str = field(STRING)


@message(16, "coordinator-value", versions="0", flexible="0+")
class ConsumerGroupRegularExpressionValue:
    """Source: ConsumerGroupRegularExpressionValue.json."""

    topics: Sequence[str] = field(array(STRING))
    """Those that matched when it was resolved."""
    version: int = field(INT64)
    """Of the metadata image that it was resolved with."""
    timestamp: int = field(INT64)
