"""Serves: TxnOffsetCommit (28), offsets of a group that count when a transaction is committed.

The transaction is verified with its coordinator first; from version 5 on that adds the partition
of the group to it (KIP-890).
Versions: 0-5.
"""

from __future__ import annotations

from collections.abc import Iterable

from broker.context import Context
from broker.coordinators.offset_commits import commit_offsets
from broker.core.coordination import TransactionProducer
from broker.core.groups.group_shard import Commit, NewOffset
from broker.core.groups.membership import Committer
from broker.core.transaction_state.begin import ProducerIdAndEpoch
from broker.core.transaction_state.verifying import Verifying, verifying_of_offset_commit
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.transactions import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)


def refuse(
    request: TxnOffsetCommitRequest, _version: int, error: KafkaError
) -> TxnOffsetCommitResponse:
    """Put the code into every partition."""
    count = sum(len(topic.partitions) for topic in request.topics)
    return _response(request, [error.code] * count)


@handles(TxnOffsetCommitRequest, "0-5", refuse=refuse)
async def handle(
    context: Context, request: TxnOffsetCommitRequest, version: int
) -> TxnOffsetCommitResponse:
    """Have the coordinator of the group keep the offsets until the transaction ends."""
    codes: list[ErrorCode] = []
    offsets: list[NewOffset] = []
    for topic in request.topics:
        for partition in topic.partitions:
            tp = TopicPartition(topic.name, partition.partition_index)
            if not context.metadata.has_partition(tp):
                codes.append(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                continue
            codes.append(ErrorCode.NONE)
            offset, metadata = partition.committed_offset, partition.committed_metadata
            offsets.append(NewOffset(tp, offset, partition.committed_leader_epoch, metadata))
    if not request.group_id:
        return _response(request, [code or ErrorCode.INVALID_GROUP_ID for code in codes])
    try:
        producer = await _verified(context, request, version) if offsets else None
    except KafkaError as error:
        return _response(request, [code or error.code for code in codes])
    commit = Commit(request.group_id, _committer(request), offsets, producer=producer)
    check = context.verifier.check
    return _response(request, await commit_offsets(context.groups, commit, codes, check))


def _committer(request: TxnOffsetCommitRequest) -> Committer:
    return Committer(
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        generation=request.generation_id,
        is_transactional=True,
    )


async def _verified(
    context: Context, request: TxnOffsetCommitRequest, version: int
) -> TransactionProducer:
    """Return whose transaction it is, once it is known to be open and to have the partition.

    Raises:
        KafkaError: it is not, or that cannot be told now.
    """
    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    how = verifying_of_offset_commit(version)
    tp = context.groups.partition_of(request.group_id)
    if how is Verifying.ADDING or context.config.transaction_partition_verification_enable:
        return await context.verifier.verified_offsets(tp, request.transactional_id, producer, how)
    return TransactionProducer(*producer)


def _response(
    request: TxnOffsetCommitRequest, codes: Iterable[ErrorCode]
) -> TxnOffsetCommitResponse:
    left = iter(codes)
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=partition.partition_index, error_code=next(left)
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
            if topic.partitions
        ]
    )
