"""The client's end of SASL: what it asks in which order, and what it says when it is refused."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from protocol.messages.sasl import SaslAuthenticateResponse, SaslHandshakeResponse
from protocol.security.sasl_client import Login, exchange

PLAIN = Login("PLAIN", "alice", "secret")


def test_plain_is_a_handshake_and_one_token() -> None:
    going = exchange(PLAIN)
    key, version, asked = next(going)
    assert (key, version, asked.mechanism) == (17, 1, "PLAIN")
    key, _, asked = going.send(SaslHandshakeResponse(error_code=0, mechanisms=["PLAIN"]))
    assert (key, asked.auth_bytes) == (36, b"\0alice\0secret")
    with pytest.raises(StopIteration) as ended:
        going.send(SaslAuthenticateResponse(error_code=0, auth_bytes=b"", session_lifetime_ms=9))
    assert ended.value.value == 9


def test_a_refusal_is_told_in_the_servers_words() -> None:
    going = exchange(PLAIN)
    next(going)
    going.send(SaslHandshakeResponse(error_code=0, mechanisms=["PLAIN"]))
    refused = SaslAuthenticateResponse(
        error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message="no such", auth_bytes=b""
    )
    with pytest.raises(ConnectionError, match="no such"):
        going.send(refused)
