"""Topics and log dirs as a cluster would describe them."""

from __future__ import annotations

from jbodlab.kafka_tools.core.views import (
    LogDirDescription,
    PartitionDescription,
    ReplicaDescription,
    TopicDescription,
)
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition


def topic(name: str, *replicas: tuple[int, ...]) -> TopicDescription:
    """A topic whose partitions have these replicas, all in sync."""
    partitions = tuple(
        PartitionDescription(partition=number, leader=each[0], replicas=each, isr=each)
        for number, each in enumerate(replicas)
    )
    return TopicDescription(
        name=name, topic_id=bytes(range(16)), is_internal=False, partitions=partitions
    )


def log_dir(
    path: str,
    *replicas: TopicPartition | tuple[TopicPartition, bool],
    error: ErrorCode = ErrorCode.NONE,
) -> LogDirDescription:
    """A log dir with these replicas; ``(partition, True)`` is a future one."""
    found = [each if isinstance(each[0], TopicPartition) else (each, False) for each in replicas]
    return LogDirDescription(
        path=path,
        error=error,
        replicas=tuple(
            ReplicaDescription(
                partition=TopicPartition(*partition),  # type: ignore[misc]
                size_bytes=100,
                offset_lag=7 if is_future else 0,
                is_future=bool(is_future),
            )
            for partition, is_future in found
        ),
    )
