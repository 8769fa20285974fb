"""Serves: AddOffsetsToTxn (25), that a transaction is about to commit offsets of a group.

Versions: 0-4.
"""

from __future__ import annotations

from broker.context import Context
from broker.core.transaction_state.begin import ProducerIdAndEpoch
from broker.core.transaction_state.old_clients import fenced_code
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.transactions import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse


def refuse(
    _request: AddOffsetsToTxnRequest, version: int, error: KafkaError
) -> AddOffsetsToTxnResponse:
    """Put the code at the top; there is nothing else."""
    return AddOffsetsToTxnResponse(error_code=fenced_code("AddOffsetsToTxn", version, error.code))


@handles(AddOffsetsToTxnRequest, "0-4", refuse=refuse)
async def handle(
    context: Context, request: AddOffsetsToTxnRequest, version: int
) -> AddOffsetsToTxnResponse:
    """Add the partition that has the group's offsets to the transaction."""
    if not request.transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The transactional id is empty.")
    code = await context.transactions.add_partitions(
        request.transactional_id,
        ProducerIdAndEpoch(request.producer_id, request.producer_epoch),
        [context.groups.partition_of(request.group_id)],
        client_transaction_version=0,
    )
    return AddOffsetsToTxnResponse(error_code=fenced_code("AddOffsetsToTxn", version, code))
