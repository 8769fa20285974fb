"""What the controller serves for clients."""

from __future__ import annotations

import pytest

from controller.handlers import HANDLERS, from_clients
from protocol.errors import ErrorCode, KafkaError
from protocol.wire.fast import codec

CLIENT_APIS = (19, 20, 32, 33, 37, 43, 44, 45, 46, 60)


@pytest.mark.parametrize("key", CLIENT_APIS)
def test_every_served_version_can_be_encoded_when_refused(key: int) -> None:
    """Fields that a version lacks stay unset, or the answer could not be sent."""
    assert from_clients.__doc__
    handler = HANDLERS[key]
    error = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "why")
    for version in range(handler.versions.low, handler.versions.high + 1):
        refused = handler.refuse(handler.api.request(), version, error)
        encoded = bytes(codec(handler.api.response, version).encode(refused))
        assert codec(handler.api.response, version).decode(encoded) is not None
