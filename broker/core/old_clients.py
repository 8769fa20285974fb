"""Error codes that a client of an older version would not know, mapped to what it knows.

One function per API; a code that no rule names passes unchanged.
Source: KafkaApis.scala, FetchRequest and ListOffsetsRequest getErrorResponse, KIP-207, KIP-112.
"""

from __future__ import annotations

from typing import Final

from protocol.errors import ErrorCode

_STORAGE_ERROR_FETCH_VERSION: Final = 6
_OFFSET_NOT_AVAILABLE_VERSION: Final = 5


def fetch_error(code: ErrorCode, version: int) -> ErrorCode:
    """Return the code for a Fetch of ``version``: to 5, a storage error reads as a lost leader."""
    if code == ErrorCode.KAFKA_STORAGE_ERROR and version < _STORAGE_ERROR_FETCH_VERSION:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return code


def list_offsets_error(code: ErrorCode, version: int) -> ErrorCode:
    """Return the code for a ListOffsets of ``version``.

    Up to 4, a leader whose high watermark lags after its election reads as no leader yet.
    """
    if code == ErrorCode.OFFSET_NOT_AVAILABLE and version < _OFFSET_NOT_AVAILABLE_VERSION:
        return ErrorCode.LEADER_NOT_AVAILABLE
    return code
