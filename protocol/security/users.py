"""The users of SASL as a broker's configuration names them, and what is kept of their passwords."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import cache, partial
from typing import Final, TypeAlias

from protocol.configs.security import SecurityConfig
from protocol.security.sasl import PLAIN, Mechanism, PlainServer
from protocol.security.sasl_client import Login
from protocol.security.sasl_session import Mechanisms
from protocol.security.scram import (
    HASHES,
    ITERATIONS_MIN,
    ScramCredential,
    ScramServer,
    credential_of,
    salted_password,
)
from protocol.security.tls import SecurityConfigError

USERS: Final = "jbodlab.sasl.users"
Stored: TypeAlias = Callable[[str, str], ScramCredential | None]
"""(mechanism, user) -> the stored credential."""
_SALT_BYTES: Final = 16
_NONCE_BYTES: Final = 24


def users_of(config: SecurityConfig) -> dict[str, str]:
    """Return the passwords by user.

    Raises:
        SecurityConfigError: the key cannot be read, or names nobody.
    """
    found: dict[str, str] = {}
    for entry in filter(None, map(str.strip, (config.jbodlab_sasl_users or "").split(","))):
        name, _, password = entry.partition(":")
        if not (name and password):
            raise SecurityConfigError(USERS, "expected name:password, separated by commas")
        found[name] = password
    if not found:
        raise SecurityConfigError(USERS, "a listener of SASL needs it, as name:password")
    return found


def mechanisms_of(config: SecurityConfig, stored: Stored | None = None) -> Mechanisms:
    """Return what begins the exchanges that a broker's listeners take.

    A ``stored`` credential wins over the user of that name in ``config``, but not over the one who
    nodes are to each other: nodes know that one's password by ``config`` alone.

    Raises:
        SecurityConfigError: as ``users_of``.
    """
    passwords = users_of(config)

    @cache
    def credential(mechanism: str, user: str) -> ScramCredential:
        salt = secrets.token_bytes(_SALT_BYTES)
        salted = salted_password(mechanism, passwords[user], salt, ITERATIONS_MIN)
        return credential_of(mechanism, salted, salt, ITERATIONS_MIN)

    def kept(mechanism: str, user: str) -> ScramCredential | None:
        found = None
        if stored is not None and user != config.jbodlab_sasl_inter_broker_user:
            found = stored(mechanism, user)
        return found or (credential(mechanism, user) if user in passwords else None)

    def scram(mechanism: str) -> ScramServer:
        nonce = secrets.token_urlsafe(_NONCE_BYTES)
        return ScramServer(mechanism, partial(kept, mechanism), nonce)

    known: dict[str, Callable[[], Mechanism]] = {each: partial(scram, each) for each in HASHES}
    known[PLAIN] = partial(PlainServer, passwords.get)
    return {name: known[name] for name in config.sasl_enabled_mechanisms}


def login_of(config: SecurityConfig) -> Login:
    """Return who a node is to other nodes.

    Raises:
        SecurityConfigError: there is no such user.
    """
    users, user = users_of(config), config.jbodlab_sasl_inter_broker_user
    if user not in users:
        raise SecurityConfigError("jbodlab.sasl.inter.broker.user", f"{user} is none of {USERS}")
    return Login(config.sasl_mechanism_inter_broker_protocol, user, users[user])
