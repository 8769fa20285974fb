"""Messages of AlterReplicaLogDirs (34), DescribeLogDirs (35), AssignReplicasToDirs (73)."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.wire.table import STRING, array, field, message, struct
from protocol.wire.types import BOOL, INT16, INT32, INT64, UUID


@struct
class AlterReplicaLogDirTopic:
    name: str = field(STRING)
    partitions: Sequence[int] = field(array(INT32))


@struct
class AlterReplicaLogDir:
    path: str = field(STRING)
    """An absolute path of the broker that is asked; on other brokers it means nothing."""
    topics: Sequence[AlterReplicaLogDirTopic] = field(array(AlterReplicaLogDirTopic))


@message(34, "request", versions="0-2", flexible="2+")
class AlterReplicaLogDirsRequest:
    """Source: AlterReplicaLogDirsRequest.json."""

    dirs: Sequence[AlterReplicaLogDir] = field(array(AlterReplicaLogDir))


@struct
class AlterReplicaLogDirPartitionResult:
    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    """LOG_DIR_NOT_FOUND for a path that is no log dir, KAFKA_STORAGE_ERROR for an offline one."""


@struct
class AlterReplicaLogDirTopicResult:
    topic_name: str = field(STRING)
    partitions: Sequence[AlterReplicaLogDirPartitionResult] = field(
        array(AlterReplicaLogDirPartitionResult)
    )


@message(34, "response", versions="0-2", flexible="2+")
class AlterReplicaLogDirsResponse:
    """Source: AlterReplicaLogDirsResponse.json."""

    throttle_time_ms: int = field(INT32)
    results: Sequence[AlterReplicaLogDirTopicResult] = field(array(AlterReplicaLogDirTopicResult))


@struct
class DescribableLogDirTopic:
    topic: str = field(STRING)
    partitions: Sequence[int] = field(array(INT32))


@message(35, "request", versions="0-5", flexible="2+")
class DescribeLogDirsRequest:
    """Source: DescribeLogDirsRequest.json."""

    topics: Sequence[DescribableLogDirTopic] | None = field(
        array(DescribableLogDirTopic), nullable="0+"
    )
    """None for all partitions."""


@struct
class DescribeLogDirsPartition:
    partition_index: int = field(INT32)
    partition_size: int = field(INT64)
    offset_lag: int = field(INT64)
    """Of a future replica behind the current one; of a current one behind the high watermark."""
    is_future_key: bool = field(BOOL)
    """Whether this is the replica that will take the place of one in another log dir (KIP-113)."""


@struct
class DescribeLogDirsTopic:
    name: str = field(STRING)
    partitions: Sequence[DescribeLogDirsPartition] = field(array(DescribeLogDirsPartition))


@struct
class DescribeLogDirsResult:
    error_code: int = field(INT16)
    """KAFKA_STORAGE_ERROR for an offline log dir."""
    log_dir: str = field(STRING)
    topics: Sequence[DescribeLogDirsTopic] = field(array(DescribeLogDirsTopic))
    total_bytes: int = field(INT64, "4+", default=-1, ignorable=True)
    """Of the file system; -1 when unknown."""
    usable_bytes: int = field(INT64, "4+", default=-1, ignorable=True)
    """Free for the broker on the file system; -1 when unknown."""
    is_cordoned: bool = field(BOOL, "5+", ignorable=True)
    """Whether no new replicas are placed there (KIP-1066)."""


@message(35, "response", versions="0-5", flexible="2+")
class DescribeLogDirsResponse:
    """Source: DescribeLogDirsResponse.json."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16, "3+", ignorable=True)
    """Of the request as a whole."""
    results: Sequence[DescribeLogDirsResult] = field(array(DescribeLogDirsResult))


@struct
class PartitionData:
    partition_index: int = field(INT32)


@struct
class TopicData:
    topic_id: bytes = field(UUID)
    partitions: Sequence[PartitionData] = field(array(PartitionData))


@struct
class DirectoryData:
    id: bytes = field(UUID)
    """The directory id that meta.properties gives the log dir."""
    topics: Sequence[TopicData] = field(array(TopicData))


@message(73, "request", versions="0", flexible="0+")
class AssignReplicasToDirsRequest:
    """Source: AssignReplicasToDirsRequest.json."""

    broker_id: int = field(INT32)
    broker_epoch: int = field(INT64, default=-1)
    directories: Sequence[DirectoryData] = field(array(DirectoryData))


@struct
class AssignReplicasToDirsResponsePartitionData:
    partition_index: int = field(INT32)
    error_code: int = field(INT16)


@struct
class AssignReplicasToDirsResponseTopicData:
    topic_id: bytes = field(UUID)
    partitions: Sequence[AssignReplicasToDirsResponsePartitionData] = field(
        array(AssignReplicasToDirsResponsePartitionData)
    )


@struct
class AssignReplicasToDirsResponseDirectoryData:
    id: bytes = field(UUID)
    topics: Sequence[AssignReplicasToDirsResponseTopicData] = field(
        array(AssignReplicasToDirsResponseTopicData)
    )


@message(73, "response", versions="0", flexible="0+")
class AssignReplicasToDirsResponse:
    """Source: AssignReplicasToDirsResponse.json."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    directories: Sequence[AssignReplicasToDirsResponseDirectoryData] = field(
        array(AssignReplicasToDirsResponseDirectoryData)
    )
