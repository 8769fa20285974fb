"""What brokers are answered when a rule fails."""

from __future__ import annotations

import pytest

from controller.handlers import HANDLERS, from_brokers
from protocol.errors import ErrorCode, KafkaError
from protocol.wire.fast import codec

CODE = ErrorCode.UNKNOWN_SERVER_ERROR
BROKER_APIS = (7, 56, 62, 63, 67)


@pytest.mark.parametrize("key", BROKER_APIS)
def test_the_code_stands_at_the_top(key: int) -> None:
    assert from_brokers.__doc__
    handler = HANDLERS[key]
    version = handler.versions.high

    refused = handler.refuse(handler.api.request(), version, KafkaError(CODE))

    body = bytes(codec(handler.api.response, version).encode(refused))
    again = codec(handler.api.response, version).decode(body)
    assert again.error_code == CODE
