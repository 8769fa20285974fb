"""Log dirs and the replicas in them: how to ask for them and order moves, and what is answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from protocol.admin.partitions import numbers_by_topic
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaView:
    """One replica in a log dir."""

    topic: str
    partition: int
    size_bytes: int
    offset_lag: int
    is_future: bool
    """Whether it is about to take the place of the one in another log dir."""

    @property
    def tp(self) -> TopicPartition:
        """Its topic and number."""
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirView:
    """One log dir of a broker."""

    broker: int
    path: str
    error_code: int
    """NONE when the broker serves from it."""
    total_bytes: int
    """-1 when the broker does not tell, as ``usable_bytes``."""
    usable_bytes: int
    replicas: tuple[ReplicaView, ...]
    is_cordoned: bool = False

    @property
    def is_online(self) -> bool:
        """Whether the broker serves from it."""
        return self.error_code == ErrorCode.NONE


def describe_log_dirs_request(
    partitions: Mapping[str, Sequence[int]] | None = None,
) -> DescribeLogDirsRequest:
    """Ask a broker for its log dirs, with all replicas or some by topic."""
    topics = None
    if partitions is not None:
        topics = [
            DescribableLogDirTopic(topic=topic, partitions=list(numbers))
            for topic, numbers in partitions.items()
        ]
    return DescribeLogDirsRequest(topics=topics)


def log_dir_views(answer: DescribeLogDirsResponse, *, broker: int) -> list[LogDirView]:
    """Return the log dirs that ``broker`` described, in the order of its answer."""
    return [
        LogDirView(
            broker=broker,
            path=result.log_dir,
            error_code=result.error_code,
            total_bytes=result.total_bytes,
            usable_bytes=result.usable_bytes,
            is_cordoned=result.is_cordoned,
            replicas=tuple(
                ReplicaView(
                    topic=topic.name,
                    partition=each.partition_index,
                    size_bytes=each.partition_size,
                    offset_lag=each.offset_lag,
                    is_future=each.is_future_key,
                )
                for topic in result.topics
                for each in topic.partitions
            ),
        )
        for result in answer.results
    ]


def move_requests(
    moves: Iterable[tuple[int, TopicPartition, str]],
) -> dict[int, AlterReplicaLogDirsRequest]:
    """Return what each broker is to be asked, for moves of (broker, partition, log dir)."""
    by_broker: dict[int, dict[TopicPartition, str]] = {}
    for broker, tp, path in moves:
        by_broker.setdefault(broker, {})[tp] = path
    return {broker: move_request(paths) for broker, paths in by_broker.items()}


def move_request(paths: Mapping[TopicPartition, str]) -> AlterReplicaLogDirsRequest:
    """Order a broker to keep each of these replicas in a log dir of its own."""
    by_path: dict[str, list[TopicPartition]] = {}
    for tp, path in paths.items():
        by_path.setdefault(path, []).append(tp)
    return AlterReplicaLogDirsRequest(
        dirs=[
            AlterReplicaLogDir(
                path=path,
                topics=[
                    AlterReplicaLogDirTopic(name=topic, partitions=numbers)
                    for topic, numbers in numbers_by_topic(tps).items()
                ],
            )
            for path, tps in by_path.items()
        ]
    )


def move_errors(answer: AlterReplicaLogDirsResponse) -> dict[TopicPartition, ErrorCode]:
    """Return the error of each replica that was to be moved, NONE where the order is accepted."""
    return {
        TopicPartition(topic.topic_name, each.partition_index): ErrorCode(each.error_code)
        for topic in answer.results
        for each in topic.partitions
    }
