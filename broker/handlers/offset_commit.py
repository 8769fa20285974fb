"""Serves: OffsetCommit (8), the offsets of a group, kept by its coordinator.

Differs from Kafka: version 0 is kept as all others are; Kafka up to 3.9 put it into ZooKeeper.
Versions: 0-10; version 10 names topics by id (KIP-848).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from broker.context import Context
from broker.coordinators.offset_commits import commit_offsets
from broker.core.groups.group_shard import Commit, NewOffset
from broker.core.groups.membership import Committer
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

_MEMBER_EPOCHS_SINCE: Final = 9
_TOPIC_IDS_SINCE: Final = 10


def refuse(request: OffsetCommitRequest, _version: int, error: KafkaError) -> OffsetCommitResponse:
    """Put the code into every partition."""
    count = sum(len(topic.partitions) for topic in request.topics)
    return _response(request, [error.code] * count)


@handles(OffsetCommitRequest, "0-10", refuse=refuse)
async def handle(
    context: Context, request: OffsetCommitRequest, version: int
) -> OffsetCommitResponse:
    """Commit what is known; partitions that nobody knows are answered by themselves."""
    codes: list[ErrorCode] = []
    offsets: list[NewOffset] = []
    for topic in request.topics:
        name = _name(context, topic.name, topic.topic_id, version)
        unknown = _unknown(name, version)
        for partition in topic.partitions:
            tp = TopicPartition(name or "", partition.partition_index)
            if name is None or not context.metadata.has_partition(tp):
                codes.append(unknown)
                continue
            codes.append(ErrorCode.NONE)
            offsets.append(
                NewOffset(
                    tp,
                    partition.committed_offset,
                    partition.committed_leader_epoch,
                    partition.committed_metadata,
                    partition.commit_timestamp,
                )
            )
    commit = Commit(
        request.group_id, _committer(request, version), offsets, request.retention_time_ms
    )
    return _response(request, await commit_offsets(context.groups, commit, codes))


def _name(context: Context, name: str, topic_id: bytes, version: int) -> str | None:
    return name if version < _TOPIC_IDS_SINCE else context.metadata.topic_name(topic_id)


def _unknown(name: str | None, version: int) -> ErrorCode:
    if version >= _TOPIC_IDS_SINCE and name is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _committer(request: OffsetCommitRequest, version: int) -> Committer:
    return Committer(
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        generation=request.generation_id_or_member_epoch,
        is_transactional=False,
        has_member_epoch=version >= _MEMBER_EPOCHS_SINCE,
    )


def _response(request: OffsetCommitRequest, codes: Iterable[ErrorCode]) -> OffsetCommitResponse:
    left = iter(codes)
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(
                        partition_index=partition.partition_index, error_code=next(left)
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
            if topic.partitions
        ]
    )
