"""Serves: AddPartitionsToTxn (24), where a producer is about to write in its transaction.

Versions: 0-5. Up to 3 clients ask, from 4 on leaders do, for several transactions (KIP-890): what
they add is of producers of transaction.version 2. Source: TransactionVersion.java.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from broker.context import Context
from broker.core.transaction_state.begin import ProducerIdAndEpoch
from broker.core.transaction_state.old_clients import client_transaction_version, fenced_code
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.transactions import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

_BATCHES_SINCE: Final = 4


def refuse(
    request: AddPartitionsToTxnRequest, version: int, error: KafkaError
) -> AddPartitionsToTxnResponse:
    """Put the code into every partition; from version 4 on at the top."""
    if version >= _BATCHES_SINCE:
        return AddPartitionsToTxnResponse(error_code=error.code)
    topics = request.v3_and_below_topics
    code = fenced_code("AddPartitionsToTxn", version, error.code)
    return AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=_results(topics, [code] * len(_partitions(topics)))
    )


@handles(AddPartitionsToTxnRequest, "0-5", refuse=refuse)
async def handle(
    context: Context, request: AddPartitionsToTxnRequest, version: int
) -> AddPartitionsToTxnResponse:
    """Add or verify the partitions of each transaction, one after the other."""
    if version >= _BATCHES_SINCE:
        return AddPartitionsToTxnResponse(
            results_by_transaction=[
                AddPartitionsToTxnResult(
                    transactional_id=asked.transactional_id,
                    topic_results=await _answered(context, asked, version),
                )
                for asked in request.transactions
            ]
        )
    asked = AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )
    return AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=await _answered(context, asked, version)
    )


async def _answered(
    context: Context, asked: AddPartitionsToTxnTransaction, version: int
) -> list[AddPartitionsToTxnTopicResult]:
    """Answer for one transaction; what fails as a whole fails for each of its partitions."""
    partitions = _partitions(asked.topics)
    try:
        codes = await _codes(context, asked, partitions, version)
    except KafkaError as error:
        codes = [error.code] * len(partitions)
    told = [fenced_code("AddPartitionsToTxn", version, code) for code in codes]
    return _results(asked.topics, told)


async def _codes(
    context: Context,
    asked: AddPartitionsToTxnTransaction,
    partitions: Sequence[TopicPartition],
    version: int,
) -> Sequence[ErrorCode]:
    unknown = [not context.metadata.has_partition(tp) for tp in partitions]
    if any(unknown):
        return [
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if lacks else ErrorCode.OPERATION_NOT_ATTEMPTED
            for lacks in unknown
        ]
    if not asked.transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    producer = ProducerIdAndEpoch(asked.producer_id, asked.producer_epoch)
    if asked.verify_only:
        return await context.transactions.shards.ask(
            asked.transactional_id,
            lambda shard, waiter, _now_ms, _wall_ms: shard.verify_partitions(
                waiter, asked.transactional_id, producer, partitions
            ),
        )
    code: ErrorCode = await context.transactions.shards.ask(
        asked.transactional_id,
        lambda shard, waiter, _now_ms, wall_ms: shard.add_partitions(
            waiter,
            asked.transactional_id,
            producer,
            partitions,
            client_transaction_version=client_transaction_version("AddPartitionsToTxn", version),
            wall_ms=wall_ms,
        ),
    )
    return [code] * len(partitions)


def _partitions(topics: Sequence[AddPartitionsToTxnTopic]) -> list[TopicPartition]:
    return [TopicPartition(topic.name, index) for topic in topics for index in topic.partitions]


def _results(
    topics: Sequence[AddPartitionsToTxnTopic], codes: Sequence[ErrorCode]
) -> list[AddPartitionsToTxnTopicResult]:
    left = iter(codes)
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(
                    partition_index=index, partition_error_code=next(left)
                )
                for index in topic.partitions
            ],
        )
        for topic in topics
    ]
