"""Records of ``__consumer_offsets`` about share groups (KIP-932).

What precedes a key (its record type) and a value (its version): ``protocol.stored_records``.
"""

from __future__ import annotations

from collections.abc import Sequence

from protocol.wire.table import STRING, array, field, message, struct
from protocol.wire.types import INT8, INT32, INT64, UUID


@message(9, "coordinator-key", versions="0")
class ShareGroupPartitionMetadataKey:
    """Source: ShareGroupPartitionMetadataKey.json. Only in 3.9."""

    group_id: str = field(STRING)


@struct
class TopicPartitionsInfo:
    topic_id: bytes = field(UUID)
    topic_name: str = field(STRING)
    partitions: Sequence[int] = field(array(INT32))


@struct
class TopicInfo:
    topic_id: bytes = field(UUID)
    topic_name: str = field(STRING)


@message(9, "coordinator-value", versions="0", flexible="0+")
class ShareGroupPartitionMetadataValue:
    """Source: ShareGroupPartitionMetadataValue.json. Only in 3.9."""

    initialized_topics: Sequence[TopicPartitionsInfo] = field(array(TopicPartitionsInfo))
    deleting_topics: Sequence[TopicInfo] = field(array(TopicInfo))


@message(10, "coordinator-key", versions="0")
class ShareGroupMemberMetadataKey:
    """Source: ShareGroupMemberMetadataKey.json."""

    group_id: str = field(STRING)
    member_id: str = field(STRING)


@message(10, "coordinator-value", versions="0", flexible="0+")
class ShareGroupMemberMetadataValue:
    """Source: ShareGroupMemberMetadataValue.json."""

    rack_id: str | None = field(STRING, nullable="0+")
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    subscribed_topic_names: Sequence[str] = field(array(STRING))


@message(11, "coordinator-key", versions="0")
class ShareGroupMetadataKey:
    """Source: ShareGroupMetadataKey.json."""

    group_id: str = field(STRING)


@message(11, "coordinator-value", versions="0", flexible="0+")
class ShareGroupMetadataValue:
    """Source: ShareGroupMetadataValue.json."""

    epoch: int = field(INT32)
    metadata_hash: int = field(INT64)


@message(12, "coordinator-key", versions="0")
class ShareGroupTargetAssignmentMetadataKey:
    """Source: ShareGroupTargetAssignmentMetadataKey.json."""

    group_id: str = field(STRING)


@message(12, "coordinator-value", versions="0", flexible="0+")
class ShareGroupTargetAssignmentMetadataValue:
    """Source: ShareGroupTargetAssignmentMetadataValue.json."""

    assignment_epoch: int = field(INT32)
    assignment_timestamp: int = field(INT64, tag=0, ignorable=True)


@message(13, "coordinator-key", versions="0")
class ShareGroupTargetAssignmentMemberKey:
    """Source: ShareGroupTargetAssignmentMemberKey.json."""

    group_id: str = field(STRING)
    member_id: str = field(STRING)


@struct
class TopicPartition:
    topic_id: bytes = field(UUID)
    partitions: Sequence[int] = field(array(INT32))


@message(13, "coordinator-value", versions="0", flexible="0+")
class ShareGroupTargetAssignmentMemberValue:
    """Source: ShareGroupTargetAssignmentMemberValue.json."""

    topic_partitions: Sequence[TopicPartition] = field(array(TopicPartition))


@message(14, "coordinator-key", versions="0")
class ShareGroupCurrentMemberAssignmentKey:
    """Source: ShareGroupCurrentMemberAssignmentKey.json."""

    group_id: str = field(STRING)
    member_id: str = field(STRING)


@struct
class TopicPartitions:
    topic_id: bytes = field(UUID)
    partitions: Sequence[int] = field(array(INT32))


@message(14, "coordinator-value", versions="0", flexible="0+")
class ShareGroupCurrentMemberAssignmentValue:
    """Source: ShareGroupCurrentMemberAssignmentValue.json."""

    member_epoch: int = field(INT32)
    previous_member_epoch: int = field(INT32)
    state: int = field(INT8)
    assigned_partitions: Sequence[TopicPartitions] = field(array(TopicPartitions))


@message(15, "coordinator-key", versions="0")
class ShareGroupStatePartitionMetadataKey:
    """Source: ShareGroupStatePartitionMetadataKey.json."""

    group_id: str = field(STRING)


@message(15, "coordinator-value", versions="0", flexible="0+")
class ShareGroupStatePartitionMetadataValue:
    """Source: ShareGroupStatePartitionMetadataValue.json."""

    initializing_topics: Sequence[TopicPartitionsInfo] = field(array(TopicPartitionsInfo))
    initialized_topics: Sequence[TopicPartitionsInfo] = field(array(TopicPartitionsInfo))
    deleting_topics: Sequence[TopicInfo] = field(array(TopicInfo))


@message(11, "coordinator-value", versions="0", flexible="0+")
class EarlyShareGroupMetadataValue:
    """What 3.9 wrote as ShareGroupMetadataValue, in the early access of share groups.

    Source: ShareGroupMetadataValue.json of 3.9.
    """

    epoch: int = field(INT32)
