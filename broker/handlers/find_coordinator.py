"""Serves: FindCoordinator (10), who coordinates a group or a transaction.

Differs from Kafka: nobody does yet. The answer is COORDINATOR_NOT_AVAILABLE, on which clients that
were given a group id but assign partitions themselves go on reading.
Versions: 0-6.
"""

from __future__ import annotations

from typing import Final

from broker.context import Context
from broker.core.no_coordinators import no_groups, no_transactions
from broker.handlers import handles
from protocol.errors import KafkaError
from protocol.messages.coordinators import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

_BATCHES_SINCE: Final = 4
_MESSAGES_SINCE: Final = 1
_NO_NODE: Final = -1
_TRANSACTION: Final = 1


def refuse(
    request: FindCoordinatorRequest, version: int, error: KafkaError
) -> FindCoordinatorResponse:
    """Put the code into every key; before version 4 there is one, at the top."""
    if version >= _BATCHES_SINCE:
        return FindCoordinatorResponse(
            coordinators=[
                Coordinator(
                    key=key,
                    node_id=_NO_NODE,
                    host="",
                    port=_NO_NODE,
                    error_code=error.code,
                    error_message=error.message,
                )
                for key in request.coordinator_keys
            ]
        )
    return FindCoordinatorResponse(
        error_code=error.code,
        error_message=error.message if version >= _MESSAGES_SINCE else None,
        node_id=_NO_NODE,
        host="",
        port=_NO_NODE,
    )


@handles(FindCoordinatorRequest, "0-6", refuse=refuse)
async def handle(
    _context: Context, request: FindCoordinatorRequest, version: int
) -> FindCoordinatorResponse:
    """Refuse every key."""
    names = request.coordinator_keys if version >= _BATCHES_SINCE else [request.key]
    raise (no_transactions if request.key_type == _TRANSACTION else no_groups)(names)
