"""Serves: AlterReplicaLogDirs (34), moves of replicas between the log dirs of this broker.

Differs from Kafka: nothing known. The answer says "accepted"; progress is in DescribeLogDirs.
Versions: 0-2.
"""

from __future__ import annotations

from broker.context import Context
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)


def refuse(
    request: AlterReplicaLogDirsRequest, _version: int, error: KafkaError
) -> AlterReplicaLogDirsResponse:
    """Put the code into every listed partition, in request order, repeated ones included."""
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(
                topic_name=topic.name,
                partitions=[
                    AlterReplicaLogDirPartitionResult(partition_index=index, error_code=error.code)
                    for index in topic.partitions
                ],
            )
            for log_dir in request.dirs
            for topic in log_dir.topics
        ]
    )


@handles(AlterReplicaLogDirsRequest, "0-2", refuse=refuse)
async def handle(
    context: Context, request: AlterReplicaLogDirsRequest, _version: int
) -> AlterReplicaLogDirsResponse:
    """Pass the wishes on; of a replica listed twice the last wish counts, with one result."""
    moves = {
        TopicPartition(topic.name, index): log_dir.path
        for log_dir in request.dirs
        for topic in log_dir.topics
        for index in topic.partitions
    }
    codes = await context.moves.alter(list(moves.items()))
    by_topic: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    for tp in moves:
        code = codes.get(tp, ErrorCode.UNKNOWN_SERVER_ERROR)
        by_topic.setdefault(tp.topic, []).append(
            AlterReplicaLogDirPartitionResult(partition_index=tp.partition, error_code=code)
        )
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(topic_name=topic, partitions=partitions)
            for topic, partitions in by_topic.items()
        ]
    )
