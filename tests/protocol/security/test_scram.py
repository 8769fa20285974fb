"""SCRAM: the exchange of RFC 7677, and whatever is no such exchange."""

from __future__ import annotations

import base64

import pytest

from protocol.security.sasl import Authenticated, InvalidTokenError
from protocol.security.scram import (
    HASHES,
    ScramClient,
    ScramCredential,
    ScramServer,
    TokenCredential,
    credential_from_text,
    credential_of,
    credential_text,
    salted_password,
)

SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
"""Of the example in RFC 7677, section 3."""


def kept(mechanism: str, user: str) -> ScramCredential | None:
    if user != "user":
        return None
    salted = salted_password(mechanism, "pencil", SALT, 4096)
    return credential_of(mechanism, salted, SALT, 4096)


def server(mechanism: str = "SCRAM-SHA-256", nonce: str = "server") -> ScramServer:
    return ScramServer(mechanism, lambda user: kept(mechanism, user), nonce)


def test_the_example_of_its_rfc() -> None:
    exchange = server(nonce="%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    client = ScramClient("SCRAM-SHA-256", "user", "pencil", "rOprNGfwEbeRWgbNEkqO")
    first = exchange.evaluate(client.first())
    assert first == (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    assert isinstance(first, bytes)
    final = client.evaluate(first)
    assert final is not None
    assert final.endswith(b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    done = exchange.evaluate(final)
    assert done == Authenticated("user", b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    assert isinstance(done, Authenticated)
    assert client.evaluate(done.token) is None


@pytest.mark.parametrize("mechanism", HASHES)
def test_a_wrong_password_is_found_out_at_both_ends(mechanism: str) -> None:
    exchange, client = server(mechanism), ScramClient(mechanism, "user", "pen", "nonce")
    first = exchange.evaluate(client.first())
    assert isinstance(first, bytes)
    final = client.evaluate(first)
    assert final is not None
    with pytest.raises(InvalidTokenError, match="wrong password"):
        exchange.evaluate(final)
    with pytest.raises(InvalidTokenError, match="server does not know"):
        client.evaluate(b"v=" + base64.b64encode(bytes(32)))


@pytest.mark.parametrize(
    "token",
    [
        b"", b"\xff", b"n,,", b"n,,n=user", b"n,,r=x", b"p=tls,,n=user,r=x",
        b"n,a=other,n=user,r=x",
        b"n,,n=nobody,r=x",
    ],
)  # fmt: skip
def test_what_begins_no_exchange_is_refused(token: bytes) -> None:
    with pytest.raises(InvalidTokenError):
        server().evaluate(token)


@pytest.mark.parametrize(
    "token", [b"", b"c=biws,r=other,p=AA==", b"c=AAAA,r=xserver,p=AA==", b"c=biws,r=xserver,p=A"]
)
def test_what_ends_no_exchange_is_refused(token: bytes) -> None:
    exchange = server()
    exchange.evaluate(b"n,,n=user,r=x")
    with pytest.raises(InvalidTokenError):
        exchange.evaluate(token)


@pytest.mark.parametrize("token", [b"", b"r=x,s=AAAA,i=4096", b"r=noncex,s=AAAA,i=1", b"r=noncex"])
def test_a_client_does_not_go_on_with_another_server(token: bytes) -> None:
    with pytest.raises(InvalidTokenError, match="no first message of a server"):
        ScramClient("SCRAM-SHA-256", "user", "pencil", "nonce").evaluate(token)


def test_a_credential_is_read_from_its_text_and_hides_its_keys() -> None:
    credential = ScramCredential(b"salt", b"stored", b"server", 4096)
    text = credential_text(credential)
    assert text == "salt=c2FsdA==,stored_key=c3RvcmVk,server_key=c2VydmVy,iterations=4096"
    assert credential_from_text(text) == credential
    assert repr(credential) == "ScramCredential(iterations=4096)"
    with pytest.raises(InvalidTokenError):
        credential_from_text("salt=c2FsdA==")


@pytest.mark.parametrize("mechanism", HASHES)
def test_a_client_of_a_delegation_token_is_its_owner_for_as_long_as_it_holds(
    mechanism: str,
) -> None:
    credential = kept(mechanism, "user")
    assert credential is not None
    tokens = {"id": TokenCredential("alice", 1234, credential)}
    exchange = ScramServer(mechanism, lambda _user: None, "server", tokens.get)
    client = ScramClient(mechanism, "id", "pencil", "nonce", is_token=True)
    first = exchange.evaluate(client.first())
    assert isinstance(first, bytes)
    final = client.evaluate(first)
    assert final is not None
    done = exchange.evaluate(final)
    assert isinstance(done, Authenticated)
    assert (done.user, done.lifetime_ms, done.is_by_token) == ("alice", 1234, True)


@pytest.mark.parametrize(("user", "is_token"), [("user", True), ("id", False)])
def test_users_and_tokens_are_not_taken_for_each_other(user: str, is_token: bool) -> None:
    credential = kept("SCRAM-SHA-256", "user")
    assert credential is not None
    tokens = {"id": TokenCredential("alice", 1234, credential)}
    exchange = ScramServer(
        "SCRAM-SHA-256", lambda user: kept("SCRAM-SHA-256", user), "server", tokens.get
    )
    client = ScramClient("SCRAM-SHA-256", user, "pencil", "nonce", is_token=is_token)
    with pytest.raises(InvalidTokenError):
        exchange.evaluate(client.first())
