"""OAUTHBEARER at both ends, and tokens that nobody signed, for development. It fetches nothing.

Source: RFC 7628; OAuthBearerSaslServer.java, OAuthBearerClientInitialResponse.java,
OAuthBearerUnsecuredJws.java, OAuthBearerUnsecuredValidatorCallbackHandler.java.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias, cast

from protocol.security.sasl import Authenticated, AuthenticationError, InvalidTokenError

OAUTHBEARER: Final = "OAUTHBEARER"
REFUSED_TOKEN: Final = b"\x01"
"""What a client says once it has read why its token is refused."""
_INVALID_TOKEN: Final = '{"status":"invalid_token"}'
_NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_PAIR: Final = "[A-Za-z]+=[\\x21-\\x7E \t\r\n]+\x01"
_FIRST: Final = re.compile(f"n,(?:a=(?P<authzid>{_NAME}))?,\x01(?P<pairs>(?:{_PAIR})*)\x01")
_AUTH: Final = re.compile(r"(?P<scheme>\w+) +(?P<token>[-_.a-zA-Z0-9]+)")
_SECTION: Final = re.compile(r"[-_a-zA-Z0-9]*")


class BearerToken(NamedTuple):
    """What a token says that is valid."""

    principal: str
    expires_ms: int
    """Wall clock."""


Validate: TypeAlias = Callable[[str, int], BearerToken]
"""(token, wall clock in ms) -> what it says. Raises InvalidTokenError."""


class OAuthBearerServer:
    """The server's end of one exchange: a token, and the client's last word when it is refused."""

    def __init__(self, validate: Validate, wall_ms: Callable[[], int]) -> None:
        self._validate, self._wall_ms = validate, wall_ms
        self._refused = ""
        """Why, for the log."""

    def evaluate(self, token: bytes) -> bytes | Authenticated:
        """Take the client's next token."""
        if self._refused:
            raise AuthenticationError(_INVALID_TOKEN, why=f"the token: {self._refused}")
        authorization, compact = _first_message(token)
        now_ms = self._wall_ms()
        try:
            bearer = self._validate(compact, now_ms)
        except InvalidTokenError as error:
            self._refused = str(error)
            return _INVALID_TOKEN.encode()
        if authorization not in ("", bearer.principal):
            raise AuthenticationError(
                "Authentication failed: Client requested an authorization id "
                f"({authorization}) that is different from the token's principal name "
                f"({bearer.principal})"
            )
        return Authenticated(bearer.principal, lifetime_ms=max(1, bearer.expires_ms - now_ms))


def first_message(token: str) -> bytes:
    """Return what a client sends."""
    return f"n,,\x01auth=Bearer {token}\x01\x01".encode()


def unsecured_token(claims: Mapping[str, Any]) -> str:
    """Return a token that nobody signed."""
    return f"{_encoded({'alg': 'none'})}.{_encoded(claims)}."


def validate_unsecured(token: str, now_ms: int) -> BearerToken:
    """Take a token that nobody signed at its word.

    Raises:
        InvalidTokenError: it is none, is signed, names nobody, or its time is over or not yet come.
    """
    parts = token.split(".")
    if len(parts) != 3 or parts[2]:
        raise InvalidTokenError("no unsecured token: expected three sections, the last one empty")
    if _decoded(parts[0]).get("alg") != "none":
        raise InvalidTokenError("no unsecured token: its algorithm is not none")
    claims = _decoded(parts[1])
    principal = claims.get("sub")
    if not isinstance(principal, str) or not principal.strip():
        raise InvalidTokenError("the claim sub names nobody")
    expires_s, issued_s = _seconds(claims, "exp"), _seconds(claims, "iat")
    if expires_s is None or now_ms >= expires_s * 1000:
        raise InvalidTokenError("the claim exp is missing or in the past")
    if issued_s is not None and issued_s * 1000 > now_ms:
        raise InvalidTokenError("the claim iat is in the future")
    return BearerToken(principal, int(expires_s * 1000))


def _first_message(token: bytes) -> tuple[str, str]:
    """Return who the client wants to be, "" for who the token says, and the token."""
    match = _FIRST.fullmatch(token.decode("latin-1"))
    if match is None:
        raise InvalidTokenError("Invalid OAUTHBEARER client first message")
    entries = (pair.partition("=") for pair in match["pairs"].split("\x01") if pair)
    fields = {name: value for name, _, value in entries}
    auth = _AUTH.fullmatch(fields.get("auth", ""))
    if auth is None:
        raise InvalidTokenError("Invalid OAUTHBEARER client first message: 'auth' not specified")
    if auth["scheme"].lower() != "bearer":
        raise InvalidTokenError("Invalid scheme in OAUTHBEARER client first message")
    name = (match["authzid"] or "").replace("=2C", ",").replace("=3D", "=")
    return name, auth["token"]


def _decoded(section: str) -> dict[str, Any]:
    if not _SECTION.fullmatch(section):
        raise InvalidTokenError("no unsecured token: a section is no base64url")
    try:
        content = json.loads(base64.urlsafe_b64decode(section + "=" * (-len(section) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        raise InvalidTokenError("no unsecured token: a section is no JSON") from None
    if not isinstance(content, dict):
        raise InvalidTokenError("no unsecured token: a section is no JSON object")
    return cast("dict[str, Any]", content)  # JSON has no other keys than texts


def _seconds(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        raise InvalidTokenError(f"the claim {name} is no time")
    return value


def _encoded(content: Mapping[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")
