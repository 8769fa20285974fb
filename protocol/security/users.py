"""The users of SASL as a broker's configuration names them, and what is kept of their passwords."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Final, TypeAlias

from protocol.configs.security import SecurityConfig
from protocol.security.oauth import (
    OAUTHBEARER,
    OAuthBearerServer,
    Validate,
    validate_unsecured,
)
from protocol.security.sasl import PLAIN, Mechanism, PlainServer
from protocol.security.sasl_client import Login
from protocol.security.sasl_session import Mechanisms
from protocol.security.scram import (
    HASHES,
    ITERATIONS_MIN,
    ScramCredential,
    ScramServer,
    TokenCredential,
    credential_of,
    salted_password,
)
from protocol.security.tls import SecurityConfigError

USERS: Final = "jbodlab.sasl.users"
LOCATION: Final = "jbodlab.sasl.users.location"
Stored: TypeAlias = Callable[[str, str], ScramCredential | None]
"""(mechanism, user) -> the stored credential."""
FindToken: TypeAlias = Callable[[str, str], TokenCredential | None]
"""(mechanism, id) -> what authenticates a delegation token's clients."""
_SALT_BYTES: Final = 16
_NONCE_BYTES: Final = 24


def users_of(config: SecurityConfig) -> dict[str, str]:
    """Return the passwords by user, of all mechanisms; nobody's where there is JAAS instead.

    Raises:
        SecurityConfigError: the key cannot be read, or names nobody.
    """
    found = _users_in(USERS, (config.jbodlab_sasl_users or "").split(","))
    location = config.jbodlab_sasl_users_location
    if location:
        try:
            lines = Path(location).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            words = getattr(error, "strerror", None) or "is no text"
            raise SecurityConfigError(LOCATION, f"{location} cannot be read: {words}") from None
        found |= _users_in(LOCATION, lines)
    if not (found or config.has_jaas):
        raise SecurityConfigError(
            USERS, "a listener of SASL needs it, as name:password, or users in sasl.jaas.config"
        )
    return found


def _users_in(key: str, entries: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in filter(None, map(str.strip, entries)):
        name, _, password = entry.partition(":")
        if not (name and password):
            raise SecurityConfigError(key, "expected name:password for each user")
        found[name] = password
    return found


def mechanisms_of(
    config: SecurityConfig,
    wall_ms: Callable[[], int],
    stored: Stored | None = None,
    token: FindToken | None = None,
) -> Mechanisms:
    """Return what begins the exchanges that a broker's listeners take.

    Clients of delegation tokens, which ``token`` finds, come in by SCRAM.
    A ``stored`` credential wins over the user of that name in ``config``, but not over the one who
    nodes are to each other: nodes know that one's password by ``config`` alone.

    Raises:
        SecurityConfigError: as ``users_of``, and of the keys for tokens.
    """
    names = config.sasl_enabled_mechanisms
    known = _by_password(config, stored, token) if {*names} - {OAUTHBEARER} else {}
    if OAUTHBEARER in names:
        known[OAUTHBEARER] = partial(OAuthBearerServer, _validates(config), wall_ms)
    return {name: known[name] for name in names}


def _validates(config: SecurityConfig) -> Validate:
    """Return what checks tokens."""
    if not config.sasl_oauthbearer_jwks_endpoint_url:
        return validate_unsecured
    from protocol.security.jwks import validates_signed  # noqa: PLC0415 - only where it is asked for

    return validates_signed(config)


def _by_password(
    config: SecurityConfig, stored: Stored | None, token: FindToken | None
) -> dict[str, Callable[[], Mechanism]]:
    of_all = users_of(config)
    passwords = {each: {**of_all, **config.jaas_users(each)} for each in (PLAIN, *HASHES)}
    nodes_user = node_user(config)

    @cache
    def credential(mechanism: str, user: str) -> ScramCredential:
        salt = secrets.token_bytes(_SALT_BYTES)
        salted = salted_password(mechanism, passwords[mechanism][user], salt, ITERATIONS_MIN)
        return credential_of(mechanism, salted, salt, ITERATIONS_MIN)

    def kept(mechanism: str, user: str) -> ScramCredential | None:
        found = None
        if stored is not None and user != nodes_user:
            found = stored(mechanism, user)
        return found or (credential(mechanism, user) if user in passwords[mechanism] else None)

    def scram(mechanism: str) -> ScramServer:
        nonce = secrets.token_urlsafe(_NONCE_BYTES)
        if token is None:
            return ScramServer(mechanism, partial(kept, mechanism), nonce)
        return ScramServer(mechanism, partial(kept, mechanism), nonce, partial(token, mechanism))

    known: dict[str, Callable[[], Mechanism]] = {each: partial(scram, each) for each in HASHES}
    known[PLAIN] = partial(PlainServer, passwords[PLAIN].get)
    return known


def node_user(config: SecurityConfig) -> str:
    """Return as whom nodes authenticate to each other, be there such a user or not."""
    options = config.jaas_options(config.sasl_mechanism_inter_broker_protocol)
    return options.get("username", config.jbodlab_sasl_inter_broker_user)


def login_of(config: SecurityConfig) -> Login:
    """Return who a node is to other nodes.

    Raises:
        SecurityConfigError: there is no such user.
    """
    mechanism, user = config.sasl_mechanism_inter_broker_protocol, node_user(config)
    options = config.jaas_options(mechanism)
    users = users_of(config)
    password = options["password"] if "username" in options else users.get(user)
    if password is None:
        raise SecurityConfigError("jbodlab.sasl.inter.broker.user", _no_login(config, user))
    return Login(mechanism, user, password)


def _no_login(config: SecurityConfig, user: str) -> str:
    if not config.has_jaas:
        return f"{user} is none of {USERS}"
    mechanism = config.sasl_mechanism_inter_broker_protocol
    return (
        f"{user} is none of {USERS}, and {mechanism.lower()}.sasl.jaas.config of the listener has "
        f"no username for sasl.mechanism.inter.broker.protocol, which is {mechanism}"
    )
