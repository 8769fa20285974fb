"""SaslHandshake behind the listeners: it comes where nobody asks for it."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from protocol.messages.sasl import SaslHandshakeRequest
from tests.broker.fakes import FakeBroker


@pytest.mark.parametrize("version", range(2))
async def test_it_is_an_illegal_state_where_nobody_asks_for_it(
    broker: FakeBroker, version: int
) -> None:
    response = await broker.ask(SaslHandshakeRequest(mechanism="PLAIN"), version)
    assert response.error_code == ErrorCode.ILLEGAL_SASL_STATE
