"""Records of ``__consumer_offsets`` about streams groups (KIP-1071).

What precedes a key (its record type) and a value (its version): ``protocol.stored_records``.
"""

from __future__ import annotations

from collections.abc import Sequence

from protocol.wire.table import STRING, array, field, message, struct
from protocol.wire.types import INT8, INT16, INT32, INT64, UINT16


@message(17, "coordinator-key", versions="0")
class StreamsGroupMetadataKey:
    """Source: StreamsGroupMetadataKey.json."""

    group_id: str = field(STRING)


@struct
class LastAssignmentConfig:
    key: str = field(STRING)
    value: str = field(STRING)


@message(17, "coordinator-value", versions="0", flexible="0+")
class StreamsGroupMetadataValue:
    """Source: StreamsGroupMetadataValue.json."""

    epoch: int = field(INT32)
    metadata_hash: int = field(INT64)
    validated_topology_epoch: int = field(INT32, default=-1, tag=0)
    """-1 when no topology was validated."""
    last_assignment_configs: Sequence[LastAssignmentConfig] | None = field(
        array(LastAssignmentConfig), nullable="0+", tag=1
    )


@message(19, "coordinator-key", versions="0")
class StreamsGroupMemberMetadataKey:
    """Source: StreamsGroupMemberMetadataKey.json."""

    group_id: str = field(STRING)
    member_id: str = field(STRING)


@struct
class Endpoint:
    host: str = field(STRING)
    port: int = field(UINT16)


@struct
class KeyValue:
    key: str = field(STRING)
    value: str = field(STRING)


@message(19, "coordinator-value", versions="0", flexible="0+")
class StreamsGroupMemberMetadataValue:
    """Source: StreamsGroupMemberMetadataValue.json."""

    instance_id: str | None = field(STRING, nullable="0+")
    rack_id: str | None = field(STRING, nullable="0+")
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    rebalance_timeout_ms: int = field(INT32, default=-1)
    topology_epoch: int = field(INT32)
    process_id: str = field(STRING)
    """Of the Streams instance, which may have several members."""
    user_endpoint: Endpoint | None = field(Endpoint, default=None, nullable="0+")
    """For interactive queries."""
    client_tags: Sequence[KeyValue] = field(array(KeyValue))


@message(20, "coordinator-key", versions="0")
class StreamsGroupTargetAssignmentMetadataKey:
    """Source: StreamsGroupTargetAssignmentMetadataKey.json."""

    group_id: str = field(STRING)


@message(20, "coordinator-value", versions="0", flexible="0+")
class StreamsGroupTargetAssignmentMetadataValue:
    """Source: StreamsGroupTargetAssignmentMetadataValue.json."""

    assignment_epoch: int = field(INT32)
    assignment_timestamp: int = field(INT64, tag=0, ignorable=True)


@message(21, "coordinator-key", versions="0")
class StreamsGroupTargetAssignmentMemberKey:
    """Source: StreamsGroupTargetAssignmentMemberKey.json."""

    group_id: str = field(STRING)
    member_id: str = field(STRING)


@struct
class TaskIds:
    subtopology_id: str = field(STRING)
    partitions: Sequence[int] = field(array(INT32))


@message(21, "coordinator-value", versions="0", flexible="0+")
class StreamsGroupTargetAssignmentMemberValue:
    """Source: StreamsGroupTargetAssignmentMemberValue.json."""

    active_tasks: Sequence[TaskIds] = field(array(TaskIds))
    standby_tasks: Sequence[TaskIds] = field(array(TaskIds))
    warmup_tasks: Sequence[TaskIds] = field(array(TaskIds))


@message(22, "coordinator-key", versions="0")
class StreamsGroupCurrentMemberAssignmentKey:
    """Source: StreamsGroupCurrentMemberAssignmentKey.json."""

    group_id: str = field(STRING)
    member_id: str = field(STRING)


@struct
class StreamsGroupCurrentMemberAssignmentValueTaskIds:
    subtopology_id: str = field(STRING)
    partitions: Sequence[int] = field(array(INT32))
    assignment_epochs: Sequence[int] | None = field(array(INT32), nullable="0+", tag=0)


@message(22, "coordinator-value", versions="0", flexible="0+")
class StreamsGroupCurrentMemberAssignmentValue:
    """Source: StreamsGroupCurrentMemberAssignmentValue.json."""

    member_epoch: int = field(INT32)
    previous_member_epoch: int = field(INT32)
    state: int = field(INT8)
    active_tasks: Sequence[StreamsGroupCurrentMemberAssignmentValueTaskIds] = field(
        array(StreamsGroupCurrentMemberAssignmentValueTaskIds)
    )
    standby_tasks: Sequence[StreamsGroupCurrentMemberAssignmentValueTaskIds] = field(
        array(StreamsGroupCurrentMemberAssignmentValueTaskIds)
    )
    warmup_tasks: Sequence[StreamsGroupCurrentMemberAssignmentValueTaskIds] = field(
        array(StreamsGroupCurrentMemberAssignmentValueTaskIds)
    )
    active_tasks_pending_revocation: Sequence[StreamsGroupCurrentMemberAssignmentValueTaskIds] = (
        field(array(StreamsGroupCurrentMemberAssignmentValueTaskIds))
    )
    standby_tasks_pending_revocation: Sequence[StreamsGroupCurrentMemberAssignmentValueTaskIds] = (
        field(array(StreamsGroupCurrentMemberAssignmentValueTaskIds))
    )
    warmup_tasks_pending_revocation: Sequence[StreamsGroupCurrentMemberAssignmentValueTaskIds] = (
        field(array(StreamsGroupCurrentMemberAssignmentValueTaskIds))
    )


@message(23, "coordinator-key", versions="0")
class StreamsGroupTopologyKey:
    """Source: StreamsGroupTopologyKey.json."""

    group_id: str = field(STRING)


@struct
class TopicConfig:
    key: str = field(STRING)
    value: str = field(STRING)


@struct
class TopicInfo:
    name: str = field(STRING)
    partitions: int = field(INT32)
    """0 leaves the number open, as for every changelog topic."""
    replication_factor: int = field(INT16)
    """0 takes the cluster's default."""
    topic_configs: Sequence[TopicConfig] = field(array(TopicConfig))


@struct
class CopartitionGroup:
    source_topics: Sequence[int] = field(array(INT16))
    """Indexes into the subtopology's array, as are the two below."""
    source_topic_regex: Sequence[int] = field(array(INT16))
    repartition_source_topics: Sequence[int] = field(array(INT16))


@struct
class Subtopology:
    subtopology_id: str = field(STRING)
    source_topics: Sequence[str] = field(array(STRING))
    source_topic_regex: Sequence[str] = field(array(STRING))
    state_changelog_topics: Sequence[TopicInfo] = field(array(TopicInfo))
    repartition_sink_topics: Sequence[str] = field(array(STRING))
    repartition_source_topics: Sequence[TopicInfo] = field(array(TopicInfo))
    copartition_groups: Sequence[CopartitionGroup] = field(array(CopartitionGroup))


@message(23, "coordinator-value", versions="0", flexible="0+")
class StreamsGroupTopologyValue:
    """Source: StreamsGroupTopologyValue.json."""

    epoch: int = field(INT32)
    subtopologies: Sequence[Subtopology] = field(array(Subtopology))
