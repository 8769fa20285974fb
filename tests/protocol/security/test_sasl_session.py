"""The order of a SASL exchange, its errors, and sessions that end."""

from __future__ import annotations

from protocol.errors import ErrorCode
from protocol.principal import Principal
from protocol.security.oauth import (
    OAUTHBEARER,
    REFUSED_TOKEN,
    OAuthBearerServer,
    first_message,
    unsecured_token,
    validate_unsecured,
)
from protocol.security.sasl import PlainServer, plain_token
from protocol.security.sasl_session import HandshakeAnswer, Phase, SaslSession

ALICE = plain_token("alice", "secret")


def session(lifetime_ms: int = 0) -> SaslSession:
    passwords = {"alice": "secret", "bob": "secret"}.get
    return SaslSession({"PLAIN": lambda: PlainServer(passwords)}, lifetime_ms_max=lifetime_ms)


def authenticated(lifetime_ms: int = 0) -> SaslSession:
    made = session(lifetime_ms)
    made.handshake("PLAIN", 0)
    assert made.authenticate(ALICE, 0).lifetime_ms == lifetime_ms
    return made


def test_a_handshake_and_a_token_let_a_client_in() -> None:
    made = session()
    assert made.handshake("PLAIN", 0) == HandshakeAnswer(ErrorCode.NONE, ("PLAIN",))
    assert made.authenticate(ALICE, 0).error_code is ErrorCode.NONE
    assert (made.phase, made.principal) == (Phase.REQUESTS, Principal("alice"))
    assert not made.takes_handshake(5_000)


def test_another_mechanism_is_told_which_there_are_and_ends_the_session() -> None:
    made = session()
    told = made.handshake("GSSAPI", 0)
    assert told == HandshakeAnswer(ErrorCode.UNSUPPORTED_SASL_MECHANISM, ("PLAIN",))
    assert made.phase is Phase.NOTHING


def test_what_comes_out_of_order_is_an_illegal_state() -> None:
    assert session().authenticate(ALICE, 0).error_code is ErrorCode.ILLEGAL_SASL_STATE
    made = session()
    made.handshake("PLAIN", 0)
    assert made.handshake("PLAIN", 0).error_code is ErrorCode.ILLEGAL_SASL_STATE
    assert made.phase is Phase.NOTHING


def test_a_failure_tells_the_client_no_more_than_kafka_does() -> None:
    made = session()
    made.handshake("PLAIN", 0)
    answer = made.authenticate(b"no token", 0)
    assert answer.error_code is ErrorCode.SASL_AUTHENTICATION_FAILED
    assert answer.error_message == (
        "Authentication failed during authentication due to invalid credentials with SASL "
        "mechanism PLAIN"
    )
    assert made.phase is Phase.NOTHING


def test_a_refused_token_tells_the_log_why_and_the_client_that_it_is_invalid() -> None:
    made = SaslSession({OAUTHBEARER: lambda: OAuthBearerServer(validate_unsecured, lambda: 10_000)})
    made.handshake(OAUTHBEARER, 0)
    token = unsecured_token({"sub": "alice", "exp": 9})
    assert made.authenticate(first_message(token), 0).error_code is ErrorCode.NONE
    answer = made.authenticate(REFUSED_TOKEN, 0)
    assert answer.error_message == '{"status":"invalid_token"}'
    assert answer.why == "the token: the claim exp is missing or in the past"


def test_a_session_that_ends_is_begun_anew_by_the_same_user() -> None:
    made = authenticated(lifetime_ms=10_000)
    assert made.ends_ms == 10_000
    assert made.takes_handshake(8_000)
    assert not made.takes_token
    assert made.handshake("PLAIN", 8_000).error_code is ErrorCode.NONE
    assert made.authenticate(ALICE, 8_000).lifetime_ms == 10_000
    assert made.ends_ms == 18_000


def test_nobody_becomes_somebody_else_by_authenticating_anew() -> None:
    made = authenticated(lifetime_ms=10_000)
    made.handshake("PLAIN", 8_000)
    answer = made.authenticate(plain_token("bob", "secret"), 8_000)
    assert answer.error_code is ErrorCode.SASL_AUTHENTICATION_FAILED
    assert "from User:alice to User:bob" in (answer.error_message or "")


def test_nobody_authenticates_anew_twice_within_a_second() -> None:
    """The pause is between two times of it, not after the connection's beginning."""
    made = authenticated(lifetime_ms=10_000)
    assert made.takes_handshake(500)
    made.handshake("PLAIN", 500)
    assert made.takes_token
    made.authenticate(ALICE, 600)
    assert not made.takes_handshake(1_499)
    assert made.phase is Phase.REQUESTS
    assert made.takes_handshake(1_500)
