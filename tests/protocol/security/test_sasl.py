"""PLAIN: one token, and Kafka's words for what is wrong with it."""

from __future__ import annotations

import pytest

from protocol.security.sasl import (
    Authenticated,
    AuthenticationError,
    InvalidTokenError,
    PlainServer,
    plain_token,
)

SERVER = PlainServer({"alice": "secret"}.get)


def test_a_user_with_its_password_is_let_in() -> None:
    assert SERVER.evaluate(plain_token("alice", "secret")) == Authenticated("alice")
    assert SERVER.evaluate(b"alice\0alice\0secret") == Authenticated("alice")


@pytest.mark.parametrize(
    ("token", "said"),
    [
        (b"\0alice\0guess", "Authentication failed: Invalid username or password"),
        (b"\0bob\0secret", "Authentication failed: Invalid username or password"),
        (b"\0\0secret", "username not specified"),
        (b"\0alice\0", "password not specified"),
        (b"bob\0alice\0secret", "authorization id that is different from username"),
    ],
)
def test_another_is_told_why_not(token: bytes, said: str) -> None:
    with pytest.raises(AuthenticationError, match=said):
        SERVER.evaluate(token)


@pytest.mark.parametrize("token", [b"", b"alice", b"\0a\0b\0c", b"\xff\0a\0b"])
def test_what_is_no_token_is_none(token: bytes) -> None:
    with pytest.raises(InvalidTokenError):
        SERVER.evaluate(token)
