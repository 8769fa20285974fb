"""Serves: InitProducerId (22), ids for idempotent producers.

Differs from Kafka: there is no transaction coordinator yet. A transactional id is answered
COORDINATOR_NOT_AVAILABLE, which is what Kafka answers while its transaction log cannot be made.
Versions: 0-5.
"""

from __future__ import annotations

from typing import Final

from broker.context import Context
from broker.core.no_coordinators import no_transactions
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.producer_ids import InitProducerIdRequest, InitProducerIdResponse

_NONE: Final = -1


def refuse(
    _request: InitProducerIdRequest, _version: int, error: KafkaError
) -> InitProducerIdResponse:
    """Put the code at the top; there is nothing else."""
    return InitProducerIdResponse(error_code=error.code, producer_id=-1, producer_epoch=-1)


@handles(InitProducerIdRequest, "0-5", refuse=refuse)
async def handle(
    context: Context, request: InitProducerIdRequest, _version: int
) -> InitProducerIdResponse:
    """Give a new id, whatever id the producer had: KIP-360 is about transactional ones."""
    if request.transactional_id == "":
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The transactional id is empty.")
    if request.transactional_id is not None:
        raise no_transactions([request.transactional_id])
    if (request.producer_id == _NONE) != (request.producer_epoch == _NONE):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, "A producer id comes with its epoch, or neither does."
        )
    producer_id = await context.producer_ids.next_producer_id()
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
