"""What a request's version says of a client, and what clients are told that do not know a code yet.

Source: KafkaApis, KIP-588, KIP-890.
"""

from __future__ import annotations

from typing import Final

from broker.core.transaction_state.metadata import EPOCH_PER_TRANSACTION
from protocol.errors import ErrorCode

_FENCED_SINCE: Final = {
    "InitProducerId": 4,
    "AddPartitionsToTxn": 2,
    "AddOffsetsToTxn": 2,
    "EndTxn": 2,
}
"""From which version on PRODUCER_FENCED is known; before, it was INVALID_PRODUCER_EPOCH."""
_EPOCH_RAISED_SINCE: Final = {"AddPartitionsToTxn": 4, "EndTxn": 5}
"""Clients ask AddPartitionsToTxn up to version 3; what leaders add is of the second protocol."""


def fenced_code(api: str, version: int, code: ErrorCode) -> ErrorCode:
    """Return ``code`` as a client that asks ``api`` in ``version`` knows it."""
    if code is ErrorCode.PRODUCER_FENCED and version < _FENCED_SINCE[api]:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code


def client_transaction_version(api: str, version: int) -> int:
    """Return the ``transaction.version`` of the producer for whom ``api`` is asked.

    Source: TransactionVersion.java.
    """
    return EPOCH_PER_TRANSACTION if version >= _EPOCH_RAISED_SINCE[api] else 0
