"""Serves: EndTxn (26), the end of a producer's transaction.

Versions: 0-5. From version 5 on every transaction has an epoch of its own (KIP-890).
"""

from __future__ import annotations

from broker.context import Context
from broker.core.transaction_state.end import EndAsked
from broker.core.transaction_state.old_clients import client_transaction_version, fenced_code
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.transactions import EndTxnRequest, EndTxnResponse


def refuse(_request: EndTxnRequest, version: int, error: KafkaError) -> EndTxnResponse:
    """Put the code at the top."""
    return EndTxnResponse(error_code=fenced_code("EndTxn", version, error.code))


@handles(EndTxnRequest, "0-5", refuse=refuse)
async def handle(context: Context, request: EndTxnRequest, version: int) -> EndTxnResponse:
    """Commit or abort."""
    if not request.transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The transactional id is empty.")
    asked = EndAsked(
        request.producer_id,
        request.producer_epoch,
        request.committed,
        client_transaction_version("EndTxn", version),
    )
    ended = await context.transactions.end(request.transactional_id, asked)
    return EndTxnResponse(
        error_code=fenced_code("EndTxn", version, ended.error),
        producer_id=ended.producer_id,
        producer_epoch=ended.producer_epoch,
    )
