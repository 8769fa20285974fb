"""Broker keys for JAAS: who may authenticate at a listener by a mechanism, and as whom nodes do.

They are set for a listener only, as ``listener.name.clients.plain.sasl.jaas.config``.
Source: JaasContext.loadServerContext, PlainLoginModule.java, ScramLoginModule.java.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from protocol.configs.authorizer import AuthorizerConfig
from protocol.configs.jaas import jaas_module
from protocol.configs.types import Check, ConfigType, field_name, key

SUFFIX: Final = ".sasl.jaas.config"
KEYS: Final = tuple(
    f"{each}{SUFFIX}" for each in ("plain", "scram-sha-256", "scram-sha-512", "oauthbearer")
)
"""What a listener may have, and nothing but a listener."""
NO_GSSAPI: Final = "GSSAPI (Kerberos) is not spoken here"
_OF_USER: Final = "user_"
_MODULES: Final = "org.apache.kafka.common.security"
_PLAIN: Final = f"{_MODULES}.plain.PlainLoginModule"
_SCRAM: Final = f"{_MODULES}.scram.ScramLoginModule"
_OAUTHBEARER: Final = f"{_MODULES}.oauthbearer.OAuthBearerLoginModule"
_LOGIN: Final = ' username="broker" password="..."'


def _line_of(module: str, example: str, refuse: Check) -> Check:
    """Accept one line of ``module`` whose options ``refuse`` has nothing to say about."""

    def check(text: Any) -> str | None:
        line = jaas_module(text)
        if line is None or line.name != module:
            return f"must be `{module} required{example};`"
        if ("username" in line.options) != ("password" in line.options):
            return "username and password, as which brokers log in, come together"
        return refuse(line.options)

    return check


def _refuse_in_plain(options: Any) -> str | None:
    empty = [name for name, value in options.items() if name.startswith(_OF_USER) and not value]
    if empty:
        return f"{empty[0]} has an empty password"
    user = options.get("username")
    if user is None or f"{_OF_USER}{user}" in options:
        return None
    return f"{_OF_USER}{user} is missing: brokers log in at each other as {user}"


def _refuse_in_scram(options: Any) -> str | None:
    if not any(name.startswith(_OF_USER) for name in options):
        return None
    return (
        "user_NAME is an option of PLAIN; users of SCRAM are in jbodlab.sasl.users, or stored by "
        "kafka-configs"
    )


def _refuse_in_oauthbearer(options: Any) -> str | None:
    # Those of the login are for brokers that authenticate by tokens, which none does.
    others = [name for name in options if not name.startswith("unsecuredLogin")]
    return (
        f"{others[0]} is not read; sasl.oauthbearer.* keys say how tokens are checked"
        if others
        else None
    )


@dataclass(init=False, repr=False, eq=False, frozen=True, slots=True, kw_only=True)
class JaasConfig(AuthorizerConfig):
    """What the listener at hand has in JAAS."""

    plain_sasl_jaas_config: str | None = key(
        ConfigType.PASSWORD,
        None,
        'At a listener: users of PLAIN as user_NAME="password", and as whom brokers log in.',
        _line_of(_PLAIN, f'{_LOGIN} user_broker="..."', _refuse_in_plain),
        nullable=True,
        internal=True,
    )
    scram_sha_256_sasl_jaas_config: str | None = key(
        ConfigType.PASSWORD,
        None,
        "At a listener: as whom brokers log in by SCRAM-SHA-256.",
        _line_of(_SCRAM, _LOGIN, _refuse_in_scram),
        name=KEYS[1],
        nullable=True,
        internal=True,
    )
    scram_sha_512_sasl_jaas_config: str | None = key(
        ConfigType.PASSWORD,
        None,
        "At a listener: the same by SCRAM-SHA-512.",
        _line_of(_SCRAM, _LOGIN, _refuse_in_scram),
        name=KEYS[2],
        nullable=True,
        internal=True,
    )
    oauthbearer_sasl_jaas_config: str | None = key(
        ConfigType.PASSWORD,
        None,
        "At a listener: needed by Kafka for tokens; tells nothing here.",
        _line_of(_OAUTHBEARER, "", _refuse_in_oauthbearer),
        nullable=True,
        internal=True,
    )

    @property
    def has_jaas(self) -> bool:
        """Whether the listener has users, or a login of brokers, in JAAS."""
        return any(self.jaas_options(each) for each in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"))

    def jaas_options(self, mechanism: str) -> dict[str, str]:
        """Return the options that a mechanism's module has; none where it is not set."""
        text = getattr(self, field_name(f"{mechanism.lower()}{SUFFIX}"))
        line = None if text is None else jaas_module(text)
        return {} if line is None else line.options

    def jaas_users(self, mechanism: str) -> dict[str, str]:
        """Return who authenticates by it, with passwords: the users of PLAIN, else brokers."""
        options = self.jaas_options(mechanism)
        users = {
            name.removeprefix(_OF_USER): value
            for name, value in options.items()
            if name.startswith(_OF_USER)
        }
        if users or "username" not in options:
            return users
        return {options["username"]: options["password"]}


def why_unknown(name: str) -> str | None:
    """Return what to do about a key of Kafka's for SASL that is none here; None of any other."""
    if "kerberos" in name or ".gssapi." in name:
        return f"{NO_GSSAPI}; SASL is PLAIN, SCRAM or OAUTHBEARER"
    if name.endswith("sasl.jaas.config"):
        return f"expected listener.name.LISTENER.MECHANISM{SUFFIX}, all in small letters"
    if name.endswith("callback.handler.class"):
        return (
            "no class of Java is loaded here; users are in sasl.jaas.config of a listener or in "
            "jbodlab.sasl.users, and sasl.oauthbearer.* keys say how tokens are checked"
        )
    return None
