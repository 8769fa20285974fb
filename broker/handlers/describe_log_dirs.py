"""Serves: DescribeLogDirs (35), what lies in which log dir and which log dirs are offline.

Differs from Kafka: log dirs, topics and partitions come in a fixed order. Version 5 is Kafka 4.3's.
Versions: 0-5.
"""

from __future__ import annotations

from broker.context import Context
from broker.engine.types import LogDirDescription
from broker.handlers import handles
from protocol.errors import KafkaError
from protocol.messages.log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)


def refuse(
    _request: DescribeLogDirsRequest, _version: int, error: KafkaError
) -> DescribeLogDirsResponse:
    """Put the code at the top; before version 3 clients see an empty list instead."""
    return DescribeLogDirsResponse(error_code=error.code, results=[])


@handles(DescribeLogDirsRequest, "0-5", refuse=refuse)
async def handle(
    context: Context, request: DescribeLogDirsRequest, _version: int
) -> DescribeLogDirsResponse:
    """Describe every configured log dir; null topics means every replica, empty means none."""
    wanted: dict[str, list[int]] | None = None
    if request.topics is not None:
        wanted = {}
        for topic in request.topics:
            wanted.setdefault(topic.topic, []).extend(topic.partitions)
    described = context.describe.log_dirs(wanted)
    return DescribeLogDirsResponse(results=[_result(log_dir) for log_dir in described])


def _result(log_dir: LogDirDescription) -> DescribeLogDirsResult:
    by_topic: dict[str, list[DescribeLogDirsPartition]] = {}
    for replica in log_dir.replicas:
        by_topic.setdefault(replica.tp.topic, []).append(
            DescribeLogDirsPartition(
                partition_index=replica.tp.partition,
                partition_size=replica.size_bytes,
                offset_lag=replica.offset_lag,
                is_future_key=replica.is_future,
            )
        )
    return DescribeLogDirsResult(
        error_code=log_dir.error_code,
        log_dir=log_dir.path,
        topics=[
            DescribeLogDirsTopic(name=topic, partitions=partitions)
            for topic, partitions in by_topic.items()
        ],
        total_bytes=log_dir.total_bytes,
        usable_bytes=log_dir.usable_bytes,
        is_cordoned=log_dir.is_cordoned,
    )
