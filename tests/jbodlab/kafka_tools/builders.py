"""Topics and log dirs as a cluster would describe them."""

from __future__ import annotations

from protocol.admin.log_dirs import LogDirView, ReplicaView
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition


def log_dir(
    path: str,
    *replicas: TopicPartition | tuple[TopicPartition, bool],
    error: ErrorCode = ErrorCode.NONE,
) -> LogDirView:
    """A log dir with these replicas; ``(partition, True)`` is a future one."""
    return LogDirView(
        broker=1,
        path=path,
        error_code=error,
        total_bytes=-1,
        usable_bytes=-1,
        replicas=tuple(map(_replica, replicas)),
    )


def _replica(held: TopicPartition | tuple[TopicPartition, bool]) -> ReplicaView:
    tp, is_future = (held, False) if isinstance(held, TopicPartition) else held
    return ReplicaView(
        topic=tp.topic,
        partition=tp.partition,
        size_bytes=100,
        offset_lag=7 if is_future else 0,
        is_future=is_future,
    )
