"""Which isolation levels a reader may ask for."""

from __future__ import annotations

import pytest

from broker.core.isolation_level import READ_COMMITTED, check_isolation_level
from protocol.errors import ErrorCode, KafkaError


@pytest.mark.parametrize("level", [0, READ_COMMITTED])
def test_both_levels_are_taken(level: int) -> None:
    check_isolation_level(level)


@pytest.mark.parametrize("level", [-1, 2, 127])
def test_any_other_level_is_an_unknown_server_error_as_in_kafka(level: int) -> None:
    with pytest.raises(KafkaError, match=f"isolation level {level}") as refused:
        check_isolation_level(level)
    assert refused.value.code == ErrorCode.UNKNOWN_SERVER_ERROR
