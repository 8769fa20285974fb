"""Serves: AddOffsetsToTxn (25), that a transaction is about to commit offsets of a group.

Differs from Kafka: while there are no group coordinators their topic is made first, and clients ask
again. A marker for a topic that is not known yet would be taken for one of a deleted topic.
Versions: 0-4.
"""

from __future__ import annotations

from broker.context import Context
from broker.core.transaction_state.begin import ProducerIdAndEpoch
from broker.core.transaction_state.old_clients import fenced_code
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.transactions import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from protocol.topic_names import CONSUMER_OFFSETS


def refuse(
    _request: AddOffsetsToTxnRequest, version: int, error: KafkaError
) -> AddOffsetsToTxnResponse:
    """Put the code at the top; there is nothing else."""
    return AddOffsetsToTxnResponse(error_code=fenced_code("AddOffsetsToTxn", version, error.code))


@handles(AddOffsetsToTxnRequest, "0-4", refuse=refuse)
async def handle(
    context: Context, request: AddOffsetsToTxnRequest, version: int
) -> AddOffsetsToTxnResponse:
    """Add the partition that has the group's offsets to the transaction; make it if need be."""
    if not request.transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The transactional id is empty.")
    if not context.metadata.has_topic(CONSUMER_OFFSETS):
        context.auto_topics.create([CONSUMER_OFFSETS])
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "The group coordinator is not there.")
    offsets = context.groups.partition_of(request.group_id)
    code: ErrorCode = await context.transactions.shards.ask(
        request.transactional_id,
        lambda shard, waiter, _now_ms, wall_ms: shard.add_partitions(
            waiter,
            request.transactional_id,
            ProducerIdAndEpoch(request.producer_id, request.producer_epoch),
            [offsets],
            client_transaction_version=0,
            wall_ms=wall_ms,
        ),
    )
    return AddOffsetsToTxnResponse(error_code=fenced_code("AddOffsetsToTxn", version, code))
