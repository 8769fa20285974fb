"""Isolation levels of readers: 0 reads all up to the high watermark, 1 only what is stable."""

from __future__ import annotations

from typing import Final

from protocol.errors import ErrorCode, KafkaError

_READ_UNCOMMITTED: Final = 0
READ_COMMITTED: Final = 1


def check_isolation_level(level: int) -> None:
    """Refuse a level that nobody knows; the whole request fails.

    Raises:
        KafkaError: UNKNOWN_SERVER_ERROR, as Kafka answers. Source: IsolationLevel.forId.
    """
    if level not in (_READ_UNCOMMITTED, READ_COMMITTED):
        raise KafkaError(
            ErrorCode.UNKNOWN_SERVER_ERROR,
            f"isolation level {level}, known are {_READ_UNCOMMITTED} and {READ_COMMITTED}",
        )
