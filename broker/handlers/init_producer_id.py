"""Serves: InitProducerId (22), ids for idempotent producers, ids and epochs for transactional ones.

Versions: 0-5. Version 6, of Kafka 4.1, is for two-phase commit (KIP-939).
"""

from __future__ import annotations

from broker.context import Context
from broker.core.transaction_state.begin import BeginAsked, ProducerIdAndEpoch
from broker.core.transaction_state.old_clients import fenced_code
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from protocol.messages.producer_ids import InitProducerIdRequest, InitProducerIdResponse


def refuse(
    _request: InitProducerIdRequest, version: int, error: KafkaError
) -> InitProducerIdResponse:
    """Put the code at the top; there is nothing else."""
    code = fenced_code("InitProducerId", version, error.code)
    return InitProducerIdResponse(
        error_code=code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH
    )


@handles(InitProducerIdRequest, "0-5", refuse=refuse)
async def handle(
    context: Context, request: InitProducerIdRequest, version: int
) -> InitProducerIdResponse:
    """Give a new id, or have the coordinator raise the epoch of a transactional one."""
    if request.transactional_id == "":
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The transactional id is empty.")
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, "A producer id comes with its epoch, or neither does."
        )
    if request.transactional_id is not None:
        return await _begin(context, request, request.transactional_id, version)
    producer_id = await context.producer_ids.next_producer_id()
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


async def _begin(
    context: Context, request: InitProducerIdRequest, transactional_id: str, version: int
) -> InitProducerIdResponse:
    expected = None
    if request.producer_id != NO_PRODUCER_ID:
        expected = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    asked = BeginAsked(transactional_id, request.transaction_timeout_ms, expected)
    begun = await context.transactions.begin(asked)
    return InitProducerIdResponse(
        error_code=fenced_code("InitProducerId", version, begun.error),
        producer_id=begun.producer_id,
        producer_epoch=begun.producer_epoch,
    )
