"""A delegation token as it is kept, its HMAC, and what a broker authenticates it by.

Whoever has the HMAC, as base64, authenticates by SCRAM with it as the password and the token's id
as the user. What is kept does not have it. Source: DelegationTokenManagerZk, TokenInformation.
"""

from __future__ import annotations

import base64
import hmac
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

import msgspec
from msgspec import Struct

from protocol.principal import Principal
from protocol.security.scram import (
    ITERATIONS_MIN,
    ScramCredential,
    credential_of,
    salted_password,
)

VERSION: Final = 3
_REQUESTERS_SINCE: Final = 3


class MalformedToken(ValueError):  # noqa: N818 -- says what it met
    """A text that is no token as Kafka keeps it."""


class DelegationToken(NamedTuple):
    """What is kept of one. Times are milliseconds of the wall clock."""

    token_id: str
    owner: Principal
    """As whom its clients authenticate."""
    requester: Principal
    renewers: tuple[Principal, ...]
    """Who may renew and expire it beside its owner."""
    issue_ms: int
    max_ms: int
    """Until when it can be renewed."""
    expiry_ms: int

    def is_over(self, now_ms: int) -> bool:
        """Tell whether its time is up."""
        return min(self.max_ms, self.expiry_ms) < now_ms

    def is_of(self, principal: Principal) -> bool:
        """Tell whether a principal may see it without an ACL; who asked for it may, too.

        Source: TokenInformation.ownerOrRenewer.
        """
        return principal == self.requester or self.may_renew(principal)

    def may_renew(self, principal: Principal) -> bool:
        """Tell whether a principal may renew and expire it. Source: allowedToRenew."""
        return principal in (self.owner, *self.renewers)


class _Written(Struct, kw_only=True):
    version: int = VERSION
    owner: str
    token_requester: str | None = msgspec.field(name="tokenRequester", default=None)
    renewers: list[str]
    issue_timestamp: int = msgspec.field(name="issueTimestamp")
    max_timestamp: int = msgspec.field(name="maxTimestamp")
    expiry_timestamp: int = msgspec.field(name="expiryTimestamp")
    token_id: str = msgspec.field(name="tokenId")


def token_text(token: DelegationToken) -> str:
    """Return the JSON that Kafka keeps in ZooKeeper."""
    written = _Written(
        owner=_sanitized(token.owner),
        token_requester=_sanitized(token.requester),
        renewers=[_sanitized(each) for each in token.renewers],
        issue_timestamp=token.issue_ms,
        max_timestamp=token.max_ms,
        expiry_timestamp=token.expiry_ms,
        token_id=token.token_id,
    )
    return msgspec.json.encode(written).decode()


def token_from_text(text: str | bytes) -> DelegationToken:
    """Read what ``token_text`` or Kafka wrote; before version 3 the owner had asked for it.

    Raises:
        MalformedToken: it is no such text.
    """
    try:
        written = msgspec.json.decode(text, type=_Written)
    except msgspec.DecodeError as error:
        raise MalformedToken(f"no delegation token: {error}") from None
    if not 0 < written.version <= VERSION:
        raise MalformedToken(f"a delegation token of version {written.version}, not 1 to {VERSION}")
    owner = _principal(written.owner)
    has_requester = written.version >= _REQUESTERS_SINCE and written.token_requester is not None
    return DelegationToken(
        written.token_id,
        owner,
        _principal(written.token_requester or "") if has_requester else owner,
        tuple(map(_principal, written.renewers)),
        written.issue_timestamp,
        written.max_timestamp,
        written.expiry_timestamp,
    )


def token_hmac(token_id: str, secret_key: str) -> bytes:
    """Return what proves that one has the token."""
    return hmac.digest(secret_key.encode(), token_id.encode(), "sha512")


def hmac_text(token: bytes) -> str:
    """Return an HMAC as clients have it: the password."""
    return base64.b64encode(token).decode()


def token_credential(mechanism: str, password: str, salt: bytes) -> ScramCredential:
    """Return what a broker keeps to authenticate a token's clients by."""
    salted = salted_password(mechanism, password, salt, ITERATIONS_MIN)
    return credential_of(mechanism, salted, salt, ITERATIONS_MIN)


def principal_from_text(text: str) -> Principal:
    """Read ``User:alice``.

    Raises:
        ValueError: it has no type or no name.
    """
    kind, colon, name = text.partition(":")
    if not (kind and colon and name):
        text = f"expected a string in format principalType:principalName but got {text}"
        raise ValueError(text)
    return Principal(name, kind)


def _sanitized(principal: Principal) -> str:
    """Source: Sanitizer.sanitize."""
    return quote(str(principal), safe="").replace("~", "%7E")


def _principal(text: str) -> Principal:
    try:
        return principal_from_text(unquote(text))
    except ValueError as error:
        raise MalformedToken(f"in a delegation token: {error}") from None
