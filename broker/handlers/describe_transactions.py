"""Serves: DescribeTransactions (65), what is known of transactional ids.

Versions: 0.
"""

from __future__ import annotations

from broker.context import Context
from broker.handlers import handles
from protocol.admin.partitions import numbers_by_topic
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)


def refuse(
    request: DescribeTransactionsRequest, _version: int, error: KafkaError
) -> DescribeTransactionsResponse:
    """Put the code into every transactional id."""
    return DescribeTransactionsResponse(
        transaction_states=[_failed(name, error.code) for name in request.transactional_ids]
    )


@handles(DescribeTransactionsRequest, "0", refuse=refuse)
async def handle(
    context: Context, request: DescribeTransactionsRequest, _version: int
) -> DescribeTransactionsResponse:
    """Answer each by itself; others coordinate those that are not coordinated here."""
    return DescribeTransactionsResponse(
        transaction_states=[_answer(context, name) for name in request.transactional_ids]
    )


def _answer(context: Context, transactional_id: str) -> TransactionState:
    if not transactional_id:
        return _failed(transactional_id, ErrorCode.INVALID_REQUEST)
    try:
        found = context.transactions.shards.shard_of(transactional_id).get(transactional_id)
    except KafkaError as error:
        return _failed(transactional_id, error.code)
    if found is None:
        return _failed(transactional_id, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    return TransactionState(
        error_code=ErrorCode.NONE,
        transactional_id=transactional_id,
        transaction_state=found.state.kafka_name,
        transaction_timeout_ms=found.timeout_ms,
        transaction_start_time_ms=found.started_ms,
        producer_id=found.producer_id,
        producer_epoch=found.producer_epoch,
        topics=[
            TopicData(topic=topic, partitions=indexes)
            for topic, indexes in numbers_by_topic(found.partitions).items()
        ],
    )


def _failed(transactional_id: str, code: ErrorCode) -> TransactionState:
    return TransactionState(error_code=code, transactional_id=transactional_id)
