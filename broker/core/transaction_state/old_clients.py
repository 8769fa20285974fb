"""What clients are told that do not know a code yet. Source: KafkaApis, KIP-588."""

from __future__ import annotations

from typing import Final

from protocol.errors import ErrorCode

_FENCED_SINCE: Final = {
    "InitProducerId": 4,
    "AddPartitionsToTxn": 2,
    "AddOffsetsToTxn": 2,
    "EndTxn": 2,
}
"""From which version on PRODUCER_FENCED is known; before, it was INVALID_PRODUCER_EPOCH."""


def fenced_code(api: str, version: int, code: ErrorCode) -> ErrorCode:
    """Return ``code`` as a client that asks ``api`` in ``version`` knows it."""
    if code is ErrorCode.PRODUCER_FENCED and version < _FENCED_SINCE[api]:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code
