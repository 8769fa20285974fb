"""OAUTHBEARER as a machine: what is taken, what is refused, and what the client is told of it."""

from __future__ import annotations

import pytest

from protocol.security.oauth import (
    REFUSED_TOKEN,
    BearerToken,
    OAuthBearerServer,
    first_message,
    unsecured_token,
    validate_unsecured,
)
from protocol.security.sasl import Authenticated, AuthenticationError, InvalidTokenError

NOW_MS = 1_700_000_000_000
NOW_S = NOW_MS // 1000
GOOD = {"sub": "alice", "iat": NOW_S, "exp": NOW_S + 60}


def server() -> OAuthBearerServer:
    return OAuthBearerServer(validate_unsecured, lambda: NOW_MS)


def test_a_valid_token_lets_in_for_as_long_as_it_holds() -> None:
    done = server().evaluate(first_message(unsecured_token(GOOD)))
    assert done == Authenticated("alice", lifetime_ms=60_000)


def test_the_token_of_java_is_read() -> None:
    """Its times are written 1.7E9 and 1.70000006E9."""
    compact = "eyJhbGciOiJub25lIn0.eyJpYXQiOjEuN0U5LCJleHAiOjEuNzAwMDAwMDZFOSwic3ViIjoiYWxpY2UifQ."
    assert validate_unsecured(compact, NOW_MS) == BearerToken("alice", NOW_MS + 60_000)


@pytest.mark.parametrize(
    "claims",
    [
        {"sub": "alice"},
        {**GOOD, "exp": NOW_S},
        {**GOOD, "exp": "soon"},
        {**GOOD, "exp": True},
        {**GOOD, "iat": NOW_S + 1},
        {**GOOD, "sub": " "},
        {**GOOD, "sub": 7},
    ],
)
def test_a_refused_token_is_told_in_json_and_ends_with_the_clients_next_word(
    claims: dict[str, object],
) -> None:
    own = server()
    assert own.evaluate(first_message(unsecured_token(claims))) == b'{"status":"invalid_token"}'
    with pytest.raises(AuthenticationError, match=r'^\{"status":"invalid_token"\}$'):
        own.evaluate(REFUSED_TOKEN)


@pytest.mark.parametrize(
    "token", ["a.b.c", "e30.e30.", "x", "..", "e30.W10.", "!.e30.", f"{'W' * 40_000}.e30."]
)
def test_what_is_no_unsecured_token_is_refused(token: str) -> None:
    with pytest.raises(InvalidTokenError):
        validate_unsecured(token, NOW_MS)


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (b"", "client first message"),
        (b"\xff\xfe", "client first message"),
        (b"n,,\x01\x01", "'auth' not specified"),
        (b"n,,\x01auth=Basic abc\x01\x01", "Invalid scheme"),
        (b"n,,\x01auth=Bearer\x01\x01", "'auth' not specified"),
        (b"y,,\x01auth=Bearer abc\x01\x01", "client first message"),
        (b"n,,\x01" + b"a=b\x01" * 50_000, "client first message"),
    ],
)
def test_a_first_message_that_is_none_ends_the_exchange(message: bytes, says: str) -> None:
    with pytest.raises(InvalidTokenError, match=says):
        server().evaluate(message)


def test_nobody_is_another_one_than_the_token_says() -> None:
    token = unsecured_token(GOOD)
    as_alice = f"n,a=alice,\x01auth=Bearer {token}\x01traceId=1\x01\x01".encode()
    assert isinstance(server().evaluate(as_alice), Authenticated)
    as_bob = f"n,a=bob,\x01auth=Bearer {token}\x01\x01".encode()
    with pytest.raises(AuthenticationError, match=r"\(bob\) that is different .* \(alice\)"):
        server().evaluate(as_bob)
