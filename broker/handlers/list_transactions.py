"""Serves: ListTransactions (66), the transactional ids that this broker coordinates.

Versions: 0-2.
"""

from __future__ import annotations

from broker.context import Context
from broker.core.transaction_state.listing import ListingFilter, listed, unknown_states
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    ListTransactionsResponseTransactionState,
)


def refuse(
    _request: ListTransactionsRequest, _version: int, error: KafkaError
) -> ListTransactionsResponse:
    """Put the code at the top."""
    return ListTransactionsResponse(error_code=error.code)


@handles(ListTransactionsRequest, "0-2", refuse=refuse)
async def handle(
    context: Context, request: ListTransactionsRequest, _version: int
) -> ListTransactionsResponse:
    """List what passes all filters; nothing while a partition is being loaded."""
    wanted = ListingFilter(
        state_names=request.state_filters,
        producer_ids=frozenset(request.producer_id_filters),
        duration_ms=request.duration_filter,
        pattern=request.transactional_id_pattern,
    )
    known = [one for shard in context.transactions.shards.shards() for one in shard.transactions()]
    found = listed(known, wanted, context.wall_ms())
    return ListTransactionsResponse(
        error_code=ErrorCode.NONE,
        unknown_state_filters=unknown_states(wanted),
        transaction_states=[
            ListTransactionsResponseTransactionState(
                transactional_id=one.transactional_id,
                producer_id=one.producer_id,
                transaction_state=one.state.kafka_name,
            )
            for one in found
        ],
    )
