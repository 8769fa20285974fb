"""What a client brings along to a listener: from a properties file, or from a node's keys.

Source: SaslConfigs.java, SslConfigs.java, JaasConfig.java.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from protocol.configs.broker import BROKER_KEYS, BrokerConfig
from protocol.configs.jaas import jaas_module
from protocol.configs.parsing import broker_config
from protocol.errors import KafkaError
from protocol.security.listeners import SecurityProtocol
from protocol.security.oauth import OAUTHBEARER, unsecured_token
from protocol.security.sasl import PLAIN
from protocol.security.sasl_client import Login
from protocol.security.scram import HASHES
from protocol.security.tls import SecurityConfigError, client_context
from protocol.security.users import login_of

PROTOCOL: Final = "security.protocol"
MECHANISM: Final = "sasl.mechanism"
JAAS: Final = "sasl.jaas.config"
TOKEN_URL: Final = "sasl.oauthbearer.token.endpoint.url"
_CLAIM: Final = "unsecuredLoginStringClaim_"
_TOKEN_S: Final = 3_600
_KNOWN: Final = (PLAIN, *HASHES, OAUTHBEARER)


class ClientSecurity(NamedTuple):
    """TLS and a login, as far as the listener asks for them."""

    tls: ssl.SSLContext | None = None
    login: Login | None = None


OPEN: Final = ClientSecurity()
"""What is brought along to PLAINTEXT."""


def security_by(properties: Mapping[str, str], now_ms: int) -> ClientSecurity:
    """Return what Kafka's keys for clients say; others are passed over.

    ``now_ms`` is the time of day, for a token that is made for development.

    Raises:
        SecurityConfigError: they make no sense, or name a mechanism that is not spoken here.
    """
    name = properties.get(PROTOCOL, "PLAINTEXT").upper()
    if name not in SecurityProtocol.__members__:
        known = ", ".join(SecurityProtocol.__members__)
        raise SecurityConfigError(PROTOCOL, f"must be one of {known}, is {name}")
    protocol = SecurityProtocol[name]
    tls = client_context(_ssl_config(properties)) if protocol.is_tls else None
    return ClientSecurity(tls, _login(properties, now_ms) if protocol.is_sasl else None)


def security_between_nodes(protocol: SecurityProtocol, config: BrokerConfig) -> ClientSecurity:
    """Return what a node brings along to another one.

    Raises:
        SecurityConfigError: the configuration makes no TLS context, or names no user.
    """
    tls = client_context(config) if protocol.is_tls else None
    return ClientSecurity(tls, login_of(config) if protocol.is_sasl else None)


def _ssl_config(properties: Mapping[str, str]) -> BrokerConfig:
    named = {
        name: value
        for name, value in properties.items()
        if name.startswith("ssl.") and name in BROKER_KEYS
    }
    try:
        return broker_config(named)
    except KafkaError as error:
        raise SecurityConfigError("ssl", error.message) from None


def _login(properties: Mapping[str, str], now_ms: int) -> Login:
    mechanism = properties.get(MECHANISM, "GSSAPI")
    if mechanism not in _KNOWN:
        raise SecurityConfigError(
            MECHANISM, f"must be one of {', '.join(_KNOWN)}, is {mechanism}, which is not spoken"
        )
    options = _jaas_options(properties.get(JAAS, ""))
    if mechanism == OAUTHBEARER:
        return Login(mechanism, "", _token(properties, options, now_ms))
    if not (options.get("username") and options.get("password")):
        raise SecurityConfigError(
            JAAS, 'expected a login module with username="..." and password="..." and a semicolon'
        )
    is_token = options.get("tokenauth", "").lower() == "true"
    if is_token and mechanism not in HASHES:
        raise SecurityConfigError(JAAS, "tokenauth is an option of SCRAM")
    return Login(mechanism, options["username"], options["password"], is_token)


def _token(properties: Mapping[str, str], options: Mapping[str, str], now_ms: int) -> str:
    """Return the token of a file, or one that nobody signed, for development."""
    url = properties.get(TOKEN_URL)
    if url is not None:
        if not url.startswith("file:"):
            raise SecurityConfigError(TOKEN_URL, f"must be a file: with a token, is {url}")
        try:
            return Path(unquote(urlsplit(url).path)).read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            raise SecurityConfigError(TOKEN_URL, f"{url} cannot be read") from None
    claims: dict[str, str | int] = {
        name.removeprefix(_CLAIM): value
        for name, value in options.items()
        if name.startswith(_CLAIM)
    }
    if "sub" not in claims:
        words = f'expected {_CLAIM}sub="..." of the login module, or {TOKEN_URL}'
        raise SecurityConfigError(JAAS, words)
    now_s = now_ms // 1000
    return unsecured_token({"iat": now_s, "exp": now_s + _TOKEN_S, **claims})


def _jaas_options(text: str) -> dict[str, str]:
    line = jaas_module(text)
    return {} if line is None else line.options
