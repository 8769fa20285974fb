"""What the SASL mechanisms share, and PLAIN, which is one token.

Source: PlainSaslServer.java, RFC 4616.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, TypeAlias

PLAIN: Final = "PLAIN"
Passwords: TypeAlias = Callable[[str], str | None]
"""Finds a user's password."""


class Authenticated(NamedTuple):
    """The end of an exchange that went well."""

    user: str
    token: bytes = b""
    """The last answer."""
    lifetime_ms: int | None = None
    """How long the mechanism itself lets this hold; None: it does not say."""
    is_by_token: bool = False
    """Whether it was by a delegation token, whose client may not ask for others."""


class InvalidTokenError(ValueError):
    """A token that does not authenticate: why, for the log. The client is told nothing of it."""


class AuthenticationError(ValueError):
    """The same, with words that the client is told; the log is told ``why``."""

    def __init__(self, said: str, why: str = "") -> None:
        super().__init__(said)
        self.why = why or said


class Mechanism(Protocol):
    """The server's end of one exchange."""

    def evaluate(self, token: bytes) -> bytes | Authenticated:
        """Take the client's next token; return the answer, at the end with who it is.

        Raises:
            InvalidTokenError: it does not authenticate.
            AuthenticationError: nor does it then.
        """
        ...


class PlainServer:
    """PLAIN: the client says its name and its password."""

    def __init__(self, passwords: Passwords) -> None:
        self._passwords = passwords

    def evaluate(self, token: bytes) -> Authenticated:
        """Take the one token."""
        try:
            parts = token.decode().split("\0")
        except UnicodeDecodeError:
            raise InvalidTokenError("the token of PLAIN is no UTF-8") from None
        if len(parts) != 3:
            raise InvalidTokenError(f"expected 3 parts in the token of PLAIN, got {len(parts)}")
        authorization, user, password = parts
        if not user:
            raise AuthenticationError("Authentication failed: username not specified")
        if not password:
            raise AuthenticationError("Authentication failed: password not specified")
        known = self._passwords(user)
        is_right = hmac.compare_digest((known or "").encode(), password.encode())
        if known is None or not is_right:
            raise AuthenticationError("Authentication failed: Invalid username or password")
        if authorization not in ("", user):
            raise AuthenticationError(
                "Authentication failed: Client requested an authorization id that is different "
                "from username"
            )
        return Authenticated(user)


def plain_token(user: str, password: str) -> bytes:
    """Return what a client sends."""
    return f"\0{user}\0{password}".encode()
