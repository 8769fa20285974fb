"""Delegation tokens as a broker decides about them: who may have, renew, expire and see which.

It keeps nothing for good: a decision is put where all brokers see it, and comes back by ``replace``
or ``keep``. Times are milliseconds of the wall clock.
Source: DelegationTokenControlManager.java, DelegationTokenManagerZk.scala, KafkaApis.scala (3.9).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple, Protocol

from protocol.errors import ErrorCode, KafkaError
from protocol.principal import USER, Principal
from protocol.security.delegation_tokens import (
    DelegationToken,
    hmac_text,
    token_credential,
    token_hmac,
)
from protocol.security.scram import ScramCredential, TokenCredential


class TokenSettings(NamedTuple):
    """What the configuration says of tokens."""

    secret_key: str | None
    """None: there are no tokens."""
    lifetime_ms_max: int
    expiry_ms: int
    """After what time one has to be renewed."""


class DelegationTokens:
    """All of a cluster, as far as they were told."""

    def __init__(self, settings: TokenSettings, new_salt: Callable[[], bytes]) -> None:
        """There are none before ``replace``; ``new_salt`` draws one for each credential."""
        self._settings = settings
        self._new_salt = new_salt
        self._tokens: dict[str, DelegationToken] = {}
        self._ids: dict[bytes, str] = {}
        """By HMAC."""
        self._credentials: dict[tuple[str, str], ScramCredential] = {}
        """By mechanism and id; made when first asked for."""

    @property
    def is_enabled(self) -> bool:
        """Whether there can be any."""
        return self._settings.secret_key is not None

    def replace(self, tokens: Iterable[DelegationToken]) -> None:
        """Take these for all that there are."""
        found = {token.token_id: token for token in tokens}
        for token_id in [each for each in self._tokens if each not in found]:
            self.forget(token_id)
        for token in found.values():
            self.keep(token)

    def keep(self, token: DelegationToken) -> None:
        """Take one that is new or changed."""
        self._tokens[token.token_id] = token
        self._ids[self.hmac_of(token)] = token.token_id

    def forget(self, token_id: str) -> None:
        """Drop one that is no more."""
        token = self._tokens.pop(token_id, None)
        if token is not None:
            self._ids.pop(self.hmac_of(token), None)
        self._credentials = {
            key: value for key, value in self._credentials.items() if key[1] != token_id
        }

    def hmac_of(self, token: DelegationToken) -> bytes:
        """Return what proves that one has the token."""
        assert self._settings.secret_key is not None
        return token_hmac(token.token_id, self._settings.secret_key)

    def new(
        self,
        token_id: str,
        owner: Principal,
        requester: Principal,
        renewers: tuple[Principal, ...],
        lifetime_ms: int,
        now_ms: int,
    ) -> DelegationToken:
        """Return a token to be kept; a lifetime of 0 or less is the longest.

        Raises:
            KafkaError: there can be none, or a renewer is no user.
        """
        self._check_enabled()
        if any(each.kind != USER for each in renewers):
            raise KafkaError(ErrorCode.INVALID_PRINCIPAL_TYPE)
        longest_ms = self._settings.lifetime_ms_max
        max_ms = now_ms + (min(longest_ms, lifetime_ms) if lifetime_ms > 0 else longest_ms)
        expiry_ms = min(max_ms, now_ms + self._settings.expiry_ms)
        return DelegationToken(token_id, owner, requester, renewers, now_ms, max_ms, expiry_ms)

    def renewed(
        self, hmac: bytes, principal: Principal, period_ms: int, now_ms: int
    ) -> DelegationToken:
        """Return a token with its new end; a period of 0 or less is the configured one.

        Raises:
            KafkaError: there is no such token, it is over, or ``principal`` may not.
        """
        token = self._found(hmac, principal, now_ms)
        period_ms = (
            min(period_ms, self._settings.expiry_ms)
            if period_ms > 0
            else (self._settings.expiry_ms)
        )
        return token._replace(expiry_ms=min(token.max_ms, now_ms + period_ms))

    def expired(
        self, hmac: bytes, principal: Principal, period_ms: int, now_ms: int
    ) -> tuple[DelegationToken, bool]:
        """Return a token with its new end, and whether it goes at once: by a negative period.

        Raises:
            KafkaError: as ``renewed``.
        """
        token = self._found(hmac, principal, now_ms)
        if period_ms < 0:
            return token, True
        return token._replace(expiry_ms=min(token.max_ms, now_ms + period_ms)), False

    def described(
        self,
        principal: Principal,
        owners: Collection[Principal] | None,
        may_see: Callable[[DelegationToken], bool],
    ) -> list[DelegationToken]:
        """Return those of ``owners``, None of anybody, that ``principal`` may see.

        Raises:
            KafkaError: there can be none.
        """
        self._check_enabled()
        return [
            token
            for token in self._tokens.values()
            if owners is None or any(map(token.is_of, owners))
            if token.is_of(principal) or may_see(token)
        ]

    def overdue(self, now_ms: int) -> list[DelegationToken]:
        """Return those whose time is up."""
        return [token for token in self._tokens.values() if token.is_over(now_ms)]

    def credential(self, mechanism: str, token_id: str, now_ms: int) -> TokenCredential | None:
        """Return what authenticates a token's clients; None: there is no such token any more."""
        token = self._tokens.get(token_id)
        if token is None or token.is_over(now_ms):
            return None
        key = (mechanism, token_id)
        if key not in self._credentials:
            password = hmac_text(self.hmac_of(token))
            self._credentials[key] = token_credential(mechanism, password, self._new_salt())
        lifetime_ms = max(1, min(token.max_ms, token.expiry_ms) - now_ms)
        return TokenCredential(token.owner.name, lifetime_ms, self._credentials[key])

    def _check_enabled(self) -> None:
        if not self.is_enabled:
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)

    def _found(self, hmac: bytes, principal: Principal, now_ms: int) -> DelegationToken:
        self._check_enabled()
        token_id = self._ids.get(hmac)
        if token_id is None:
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
        token = self._tokens[token_id]
        if token.is_over(now_ms):
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_EXPIRED)
        if not token.may_renew(principal):
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)
        return token


class TokensPort(Protocol):
    """The cluster's delegation tokens, which all brokers are to know alike."""

    @property
    def tokens(self) -> DelegationTokens:
        """Who decides about them."""
        ...

    async def put(self, token: DelegationToken) -> None:
        """Have all brokers know one; raises KafkaError where it cannot be kept."""
        ...

    async def remove(self, token_id: str) -> None:
        """Have no broker know one any more; raises as ``put``."""
        ...
