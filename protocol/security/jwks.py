"""Tokens of OAUTHBEARER that somebody signed, checked by the keys of a JWKS in a file or at a URL.

Source: OAuthBearerValidatorCallbackHandler.java, BrokerJwtValidator.java, RefreshingHttpsJwks.java.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from protocol.configs.security import SecurityConfig
from protocol.security.oauth import BearerToken, Validate
from protocol.security.sasl import InvalidTokenError
from protocol.security.tls import SecurityConfigError

if TYPE_CHECKING:
    from jwt import PyJWKSet

URL: Final = "sasl.oauthbearer.jwks.endpoint.url"
ALGORITHMS: Final = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
)  # fmt: skip
"""Those with a public key; a shared secret has no place in a JWKS, and `none` is no signature."""
_FETCH_TIMEOUT_S: Final = 10
_BYTES_MAX: Final = 1 << 20
_SOONEST_S: Final = 10
"""After the last time keys are not fetched anew, whatever tokens name."""
logger = logging.getLogger(__name__)


class Jwks:
    """The keys, fetched at the start; later by a thread, when they are old or one is missing."""

    def __init__(
        self,
        url: str,
        refresh_ms: int,
        read: Callable[[str], bytes],
        beside: Callable[[Callable[[], None]], None],
    ) -> None:
        """Fetch them.

        Args:
            url: where they are.
            refresh_ms: the age at which they are fetched anew.
            read: returns what is at a URL, and may block.
            beside: has something done while others go on.

        Raises:
            SecurityConfigError: there are none.
        """
        self._url, self._refresh_s, self._read = url, refresh_ms / 1000, read
        self._beside = beside
        self._is_fetching = threading.Lock()
        self._fetched_at = time.monotonic()
        try:
            self._keys: PyJWKSet = self._fetched()
        except (OSError, ValueError) as error:
            raise SecurityConfigError(URL, f"{url} has no keys: {error}") from None

    def key(self, key_id: str | None) -> Any:
        """Return a key by its id, or the only one.

        Raises:
            InvalidTokenError: there is none.
        """
        known = self._keys.keys
        found = [each for each in known if each.key_id == key_id]
        if key_id is None and len(known) == 1:
            found = list(known)
        age_s = time.monotonic() - self._fetched_at
        if age_s > self._refresh_s or (not found and age_s > _SOONEST_S):
            self._fetch_beside()
        if not found:
            raise InvalidTokenError("its key is none of the JWKS")
        return found[0]

    def _fetch_beside(self) -> None:
        if self._is_fetching.acquire(blocking=False):
            self._beside(self._fetch)

    def _fetch(self) -> None:
        try:
            self._keys = self._fetched()
        except (OSError, ValueError) as error:
            logger.warning("the keys of %s stay as they were: %s", self._url, error)
        finally:
            self._fetched_at = time.monotonic()
            self._is_fetching.release()

    def _fetched(self) -> PyJWKSet:
        from jwt import PyJWKSet, PyJWTError  # noqa: PLC0415 - only where tokens are signed

        try:
            return PyJWKSet.from_dict(json.loads(self._read(self._url)))
        except (PyJWTError, TypeError, AttributeError) as error:
            raise ValueError(str(error)) from None


def validates_signed(config: SecurityConfig) -> Validate:
    """Return what checks tokens as the configuration says.

    Raises:
        SecurityConfigError: the JWKS has no keys.
    """
    url = config.sasl_oauthbearer_jwks_endpoint_url
    assert url is not None
    refresh_ms = config.sasl_oauthbearer_jwks_endpoint_refresh_ms
    jwks = Jwks(url, refresh_ms, read_url, _in_a_thread)

    def validate(token: str, now_ms: int) -> BearerToken:
        claims = _claims(token, jwks, config, now_ms)
        _check_scopes(claims.get(config.sasl_oauthbearer_scope_claim_name))
        name = config.sasl_oauthbearer_sub_claim_name
        principal = claims.get(name)
        if not isinstance(principal, str) or not principal.strip():
            raise InvalidTokenError(f"the claim {name} names nobody")
        return BearerToken(principal, int(claims["exp"] * 1000))

    return validate


def _in_a_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="jwks", daemon=True).start()


def read_url(url: str) -> bytes:
    """Return what is at a file or at an address of HTTP.

    Raises:
        OSError: nothing, or nobody answers.
        ValueError: it is no such URL, or more than a megabyte.
    """
    parts = urlsplit(url)
    if parts.scheme == "file":
        content = Path(unquote(parts.path)).read_bytes()
    elif parts.scheme in ("http", "https"):
        with urllib.request.urlopen(url, timeout=_FETCH_TIMEOUT_S) as answer:
            content = answer.read(_BYTES_MAX + 1)
    else:
        raise ValueError("expected file://, http:// or https://")
    if len(content) > _BYTES_MAX:
        raise ValueError(f"more than {_BYTES_MAX} bytes")
    return content


# Any: JSON.
def _claims(token: str, jwks: Jwks, config: SecurityConfig, now_ms: int) -> dict[str, Any]:
    import jwt  # noqa: PLC0415 - as above

    audience = config.sasl_oauthbearer_expected_audience
    try:
        key = jwks.key(jwt.get_unverified_header(token).get("kid"))
        # Times are checked below, by the clock that was given.
        claims = jwt.decode(
            token,
            key.key,
            algorithms=list(ALGORITHMS),
            audience=list(audience) or None,
            issuer=config.sasl_oauthbearer_expected_issuer,
            options={
                "require": ["exp", "iat", "sub"],
                "verify_aud": bool(audience),
                "verify_exp": False,
                "verify_iat": False,
                "verify_nbf": False,
            },
        )
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        raise InvalidTokenError(str(error)) from None
    skew_s, now_s = config.sasl_oauthbearer_clock_skew_seconds, now_ms / 1000
    if now_s - skew_s >= _time(claims, "exp"):
        raise InvalidTokenError("the claim exp is in the past")
    if _time(claims, "iat") > now_s + skew_s or _time(claims, "nbf") > now_s + skew_s:
        raise InvalidTokenError("the claim iat or nbf is in the future")
    return claims


def _time(claims: dict[str, Any], name: str) -> float:
    value = claims.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidTokenError(f"the claim {name} is no time")
    return value


def _check_scopes(scopes: Any) -> None:
    """Refuse blank and repeated scopes. Source: ClaimValidationUtils.validateScopes."""
    named: list[Any] = [scopes] if isinstance(scopes, str) else list(scopes or ())
    texts = [each.strip() for each in named if isinstance(each, str)]
    if len(texts) < len(named) or "" in texts or len(set(texts)) < len(texts):
        raise InvalidTokenError("the scopes are blank, repeated, or no texts")
