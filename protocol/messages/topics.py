"""Messages of topic administration.

API keys: CreateTopics (19), DeleteTopics (20), CreatePartitions (37), DeleteRecords (21).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from protocol.wire.table import STRING, array, field, message, struct
from protocol.wire.types import BOOL, INT8, INT16, INT32, INT64, UUID

TO_HIGH_WATERMARK: Final = -1
"""An offset in DeleteRecords: everything committed."""


@struct
class CreatableReplicaAssignment:
    partition_index: int = field(INT32)
    broker_ids: Sequence[int] = field(array(INT32))


@struct
class CreatableTopicConfig:
    name: str = field(STRING)
    value: str | None = field(STRING, nullable="0+")


@struct
class CreatableTopic:
    name: str = field(STRING)
    num_partitions: int = field(INT32)
    """-1 for the default of the cluster or when there are assignments."""
    replication_factor: int = field(INT16)
    """-1 for the default of the cluster or when there are assignments."""
    assignments: Sequence[CreatableReplicaAssignment] = field(array(CreatableReplicaAssignment))
    """Empty for the controller to choose."""
    configs: Sequence[CreatableTopicConfig] = field(array(CreatableTopicConfig))


@message(19, "request", versions="0-7", flexible="5+")
class CreateTopicsRequest:
    """Source: CreateTopicsRequest.json."""

    topics: Sequence[CreatableTopic] = field(array(CreatableTopic))
    timeout_ms: int = field(INT32, default=60000)
    validate_only: bool = field(BOOL, "1+")
    """Check and answer, create nothing."""


@struct
class CreatableTopicConfigs:
    name: str = field(STRING, "5+")
    value: str | None = field(STRING, "5+", nullable="5+")
    read_only: bool = field(BOOL, "5+")
    config_source: int = field(INT8, "5+", default=-1, ignorable=True)
    """As in DescribeConfigs."""
    is_sensitive: bool = field(BOOL, "5+")


@struct
class CreatableTopicResult:
    name: str = field(STRING)
    topic_id: bytes = field(UUID, "7+", ignorable=True)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, "1+", nullable="0+", ignorable=True)
    topic_config_error_code: int = field(INT16, "5+", tag=0, ignorable=True)
    """Set when the configs may not be seen by the client."""
    num_partitions: int = field(INT32, "5+", default=-1, ignorable=True)
    replication_factor: int = field(INT16, "5+", default=-1, ignorable=True)
    configs: Sequence[CreatableTopicConfigs] | None = field(
        array(CreatableTopicConfigs), "5+", nullable="5+", ignorable=True
    )


@message(19, "response", versions="0-7", flexible="5+")
class CreateTopicsResponse:
    """Source: CreateTopicsResponse.json."""

    throttle_time_ms: int = field(INT32, "2+", ignorable=True)
    topics: Sequence[CreatableTopicResult] = field(array(CreatableTopicResult))


@struct
class DeleteTopicState:
    name: str | None = field(STRING, "6+", default=None, nullable="6+")
    """None when the topic is named by its id."""
    topic_id: bytes = field(UUID, "6+")


@message(20, "request", versions="0-6", flexible="4+")
class DeleteTopicsRequest:
    """Source: DeleteTopicsRequest.json."""

    topics: Sequence[DeleteTopicState] = field(array(DeleteTopicState), "6+")
    topic_names: Sequence[str] = field(array(STRING), "0-5", ignorable=True)
    timeout_ms: int = field(INT32)


@struct
class DeletableTopicResult:
    name: str | None = field(STRING, nullable="6+")
    topic_id: bytes = field(UUID, "6+", ignorable=True)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, "5+", default=None, nullable="5+", ignorable=True)


@message(20, "response", versions="0-6", flexible="4+")
class DeleteTopicsResponse:
    """Source: DeleteTopicsResponse.json."""

    throttle_time_ms: int = field(INT32, "1+", ignorable=True)
    responses: Sequence[DeletableTopicResult] = field(array(DeletableTopicResult))


@struct
class CreatePartitionsAssignment:
    broker_ids: Sequence[int] = field(array(INT32))


@struct
class CreatePartitionsTopic:
    name: str = field(STRING)
    count: int = field(INT32)
    """How many partitions there should be then, not how many to add."""
    assignments: Sequence[CreatePartitionsAssignment] | None = field(
        array(CreatePartitionsAssignment), nullable="0+"
    )
    """Of the new partitions; None for the controller to choose."""


@message(37, "request", versions="0-3", flexible="2+")
class CreatePartitionsRequest:
    """Source: CreatePartitionsRequest.json."""

    topics: Sequence[CreatePartitionsTopic] = field(array(CreatePartitionsTopic))
    timeout_ms: int = field(INT32)
    validate_only: bool = field(BOOL)


@struct
class CreatePartitionsTopicResult:
    name: str = field(STRING)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, default=None, nullable="0+")


@message(37, "response", versions="0-3", flexible="2+")
class CreatePartitionsResponse:
    """Source: CreatePartitionsResponse.json."""

    throttle_time_ms: int = field(INT32)
    results: Sequence[CreatePartitionsTopicResult] = field(array(CreatePartitionsTopicResult))


@struct
class DeleteRecordsPartition:
    partition_index: int = field(INT32)
    offset: int = field(INT64)
    """Records before it go, or ``TO_HIGH_WATERMARK``."""


@struct
class DeleteRecordsTopic:
    name: str = field(STRING)
    partitions: Sequence[DeleteRecordsPartition] = field(array(DeleteRecordsPartition))


@message(21, "request", versions="0-2", flexible="2+")
class DeleteRecordsRequest:
    """Source: DeleteRecordsRequest.json."""

    topics: Sequence[DeleteRecordsTopic] = field(array(DeleteRecordsTopic))
    timeout_ms: int = field(INT32)


@struct
class DeleteRecordsPartitionResult:
    partition_index: int = field(INT32)
    low_watermark: int = field(INT64)
    """The smallest log start offset of all live replicas."""
    error_code: int = field(INT16)


@struct
class DeleteRecordsTopicResult:
    name: str = field(STRING)
    partitions: Sequence[DeleteRecordsPartitionResult] = field(array(DeleteRecordsPartitionResult))


@message(21, "response", versions="0-2", flexible="2+")
class DeleteRecordsResponse:
    """Source: DeleteRecordsResponse.json."""

    throttle_time_ms: int = field(INT32)
    topics: Sequence[DeleteRecordsTopicResult] = field(array(DeleteRecordsTopicResult))
