"""The SASL exchange of one connection at its server, as a pure machine.

Kafka's order: ApiVersions, SaslHandshake, SaslAuthenticate until it is done; anything else before
closes the connection. Unlike in Kafka ApiVersions may come as often as wanted. Afterwards the same
again is a re-authentication (KIP-368), if sessions have a lifetime. Source:
SaslServerAuthenticator.java.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from protocol.errors import ErrorCode
from protocol.principal import Principal
from protocol.security.sasl import (
    Authenticated,
    AuthenticationError,
    InvalidTokenError,
    Mechanism,
)

Mechanisms: TypeAlias = Mapping[str, Callable[[], Mechanism]]
"""By name, what begins an exchange."""
REAUTHENTICATION_PAUSE_MS: Final = 1_000
"""Sooner than this after the last time that it began nobody authenticates anew.

Source: KafkaChannel.java maybeBeginServerReauthentication.
"""


class Phase(Enum):
    """What is expected of the client."""

    HANDSHAKE = 1
    TOKENS = 2
    REQUESTS = 3
    NOTHING = 4
    """It failed: the connection is about to be closed."""


class HandshakeAnswer(NamedTuple):
    """The answer to a SaslHandshake."""

    error_code: ErrorCode
    mechanisms: tuple[str, ...]


class TokenAnswer(NamedTuple):
    """The answer to a SaslAuthenticate."""

    error_code: ErrorCode = ErrorCode.NONE
    error_message: str = ""
    token: bytes = b""
    lifetime_ms: int = 0
    why: str = ""
    """Of a failure, for the log: never a secret."""


class SaslSession:
    """One connection. It is over when ``phase`` is NOTHING."""

    def __init__(self, mechanisms: Mechanisms, *, lifetime_ms_max: int = 0) -> None:
        """Expect a handshake; 0 is a session that does not end."""
        self._mechanisms = mechanisms
        self._lifetime_ms_max = lifetime_ms_max
        self._mechanism: str = ""
        self._exchange: Mechanism | None = None
        self._began_again_ms: int | None = None
        """When it last began to authenticate anew."""
        self.phase = Phase.HANDSHAKE
        self.principal: Principal | None = None
        self.is_by_token = False
        """Whether the principal authenticated by a delegation token."""
        self.ends_ms: int | None = None
        """When the session is over; None: never."""

    def takes_handshake(self, now_ms: int) -> bool:
        """Tell whether a SaslHandshake is for this session.

        Otherwise it is a request like any other, and its error takes nothing from the client.
        """
        if self.principal is None:
            return True
        began_ms = self._began_again_ms
        is_soon = began_ms is not None and now_ms - began_ms < REAUTHENTICATION_PAUSE_MS
        return self.ends_ms is not None and not is_soon

    @property
    def takes_token(self) -> bool:
        """Whether a SaslAuthenticate is for this session, as above."""
        return self.principal is None or self.phase is Phase.TOKENS

    def handshake(self, mechanism: str, now_ms: int) -> HandshakeAnswer:
        """Begin an exchange; ``takes_handshake`` first."""
        known = tuple(self._mechanisms)
        is_again = self.phase is Phase.REQUESTS
        if not is_again and self.phase is not Phase.HANDSHAKE:
            self.phase = Phase.NOTHING
            return HandshakeAnswer(ErrorCode.ILLEGAL_SASL_STATE, ())
        if is_again:
            self._began_again_ms = now_ms
        make = self._mechanisms.get(mechanism)
        if make is None or (is_again and mechanism != self._mechanism):
            self.phase = Phase.NOTHING
            return HandshakeAnswer(ErrorCode.UNSUPPORTED_SASL_MECHANISM, known)
        self._mechanism, self._exchange = mechanism, make()
        self.phase = Phase.TOKENS
        return HandshakeAnswer(ErrorCode.NONE, known)

    def authenticate(self, token: bytes, now_ms: int) -> TokenAnswer:
        """Take the client's next token."""
        if self.phase is not Phase.TOKENS or self._exchange is None:
            self.phase = Phase.NOTHING
            said = "SaslAuthenticate request received before SaslHandshake"
            return TokenAnswer(ErrorCode.ILLEGAL_SASL_STATE, said, why=said)
        try:
            answer = self._exchange.evaluate(token)
        except AuthenticationError as error:
            return self._fail(str(error), error.why)
        except InvalidTokenError as error:
            text = "authentication" if self.principal is None else "re-authentication"
            said = (
                f"Authentication failed during {text} due to invalid credentials with SASL "
                f"mechanism {self._mechanism}"
            )
            return self._fail(said, f"{said} ({error})")
        if not isinstance(answer, Authenticated):
            return TokenAnswer(token=answer)
        return self._complete(answer, now_ms)

    def _complete(self, done: Authenticated, now_ms: int) -> TokenAnswer:
        principal = Principal(done.user)
        if self.principal not in (None, principal):
            said = f"Cannot change principals during re-authentication from {self.principal} to "
            return self._fail(f"{said}{principal}", f"{said}{principal}")
        limits = [each for each in (done.lifetime_ms, self._lifetime_ms_max) if each]
        lifetime_ms = min(limits, default=0)
        self.principal, self._exchange = principal, None
        self.is_by_token = done.is_by_token
        self.ends_ms = now_ms + lifetime_ms if lifetime_ms else None
        self.phase = Phase.REQUESTS
        return TokenAnswer(token=done.token, lifetime_ms=lifetime_ms)

    def _fail(self, said: str, why: str) -> TokenAnswer:
        self.phase = Phase.NOTHING
        return TokenAnswer(ErrorCode.SASL_AUTHENTICATION_FAILED, said, why=why)
