"""The SASL exchange of one connection at its client: what nodes and our own tools do.

It asks by whatever sends a request and returns the answer. Source: SaslClientAuthenticator.java.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator
from typing import Any, Final, NamedTuple, TypeAlias

from protocol.apis import APIS
from protocol.errors import ErrorCode, Malformed
from protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from protocol.security.oauth import OAUTHBEARER, REFUSED_TOKEN, first_message
from protocol.security.sasl import PLAIN, InvalidTokenError, plain_token
from protocol.security.scram import ScramClient
from protocol.transport.door import AskRaw, Authenticate
from protocol.wire.fast import codec

_HANDSHAKE_VERSION: Final = 1
_AUTHENTICATE_VERSION: Final = 2


class Login(NamedTuple):
    """Who a client is."""

    mechanism: str
    user: str
    password: str
    """Of OAUTHBEARER: the token."""
    is_token: bool = False
    """Whether the user is a delegation token's id and the password its HMAC, as base64."""

    def __repr__(self) -> str:
        """Leave the password out, wherever this is shown."""
        return f"Login({self.mechanism}, {self.user})"


class LoginRefusedError(ConnectionError):
    """The server does not let this user in; the words are the server's."""


Asked: TypeAlias = tuple[int, int, Any]
"""API key, version, request."""


def exchange(login: Login) -> Generator[Asked, Any, int]:
    """Yield requests, take their responses, return the session's lifetime in ms (0: no end).

    Raises:
        LoginRefusedError: the server refuses.
        ConnectionError: it has not proved itself.
    """
    asked = SaslHandshakeRequest(mechanism=login.mechanism)
    shaken: SaslHandshakeResponse = yield 17, _HANDSHAKE_VERSION, asked
    if shaken.error_code:
        known = ", ".join(shaken.mechanisms)
        raise LoginRefusedError(
            f"{ErrorCode(shaken.error_code).name}: {login.mechanism} is none of {known or 'them'}"
        )
    if login.mechanism == PLAIN:
        answer = yield _token(plain_token(login.user, login.password))
        return _checked(answer).session_lifetime_ms
    if login.mechanism == OAUTHBEARER:
        answer = _checked((yield _token(first_message(login.password))))
        if answer.auth_bytes:  # Why not; the server has the last word once it knows that we know.
            answer = _checked((yield _token(REFUSED_TOKEN)))
        return answer.session_lifetime_ms
    nonce, is_token = secrets.token_urlsafe(24), login.is_token
    client = ScramClient(login.mechanism, login.user, login.password, nonce, is_token=is_token)
    token: bytes | None = client.first()
    try:
        while True:
            answer = _checked((yield _token(token)))
            token = client.evaluate(bytes(answer.auth_bytes))
            if token is None:
                return answer.session_lifetime_ms
    except InvalidTokenError as error:
        raise ConnectionError(f"SASL exchange broke off: {error}") from None


def authenticates(login: Login) -> Authenticate:
    """Return what authenticates connections of a client that has a loop."""

    async def authenticate(ask: AskRaw) -> int:
        going = exchange(login)
        try:
            key, version, request = next(going)
            while True:
                body = codec(APIS[key].request, version).encode_parts(request)
                answer = await ask(key, version, body)
                decoded = codec(APIS[key].response, version).decode(answer)
                key, version, request = going.send(decoded)
        except StopIteration as end:
            return end.value
        except Malformed as error:
            raise ConnectionError(f"no answer of SASL: {error}") from error

    return authenticate


def _token(token: bytes) -> Asked:
    return 36, _AUTHENTICATE_VERSION, SaslAuthenticateRequest(auth_bytes=token)


def _checked(answer: SaslAuthenticateResponse) -> SaslAuthenticateResponse:
    if answer.error_code != ErrorCode.NONE:
        raise LoginRefusedError(answer.error_message or ErrorCode(answer.error_code).name)
    return answer
