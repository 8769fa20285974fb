"""Broker keys of one listener: ``listener.name.NAME.`` before a key of SSL or SASL.

Source: ListenerName.configPrefix, AbstractConfig.valuesWithPrefixOverride,
DynamicBrokerConfig.ListenerConfigRegex.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, TypeVar

from protocol.configs.broker import BROKER_KEYS
from protocol.configs.sasl_jaas import KEYS as JAAS_KEYS
from protocol.configs.types import ConfigKey

TextT = TypeVar("TextT", str, "str | None")
PREFIX: Final = "listener.name."
_NAME: Final = re.compile(r"listener\.name\.(?P<listener>[^.]+)\.(?P<key>.+)")
_OF_NODES: Final = "sasl.mechanism.inter.broker.protocol"
LIMITS: Final = ("max.connections", "max.connection.creation.rate")
"""What a listener may have of its own and all listeners of a cluster may be set to at once."""
_OTHERS: Final = (
    "connections.max.reauth.ms",
    "jbodlab.sasl.users",
    "jbodlab.sasl.users.location",
    *JAAS_KEYS,
    *LIMITS,
)
PER_LISTENER: Final = tuple(
    name
    for name in BROKER_KEYS
    if (name.startswith(("ssl.", "sasl.")) and name != _OF_NODES) or name in _OTHERS
)
"""What a listener may have of its own."""
KEYS_OF_ALL: Final = {name: column for name, column in BROKER_KEYS.items() if name not in JAAS_KEYS}
"""What a broker may have without the name of a listener before it."""
STORES: Final = tuple(
    name
    for name in BROKER_KEYS
    if name.startswith(("ssl.keystore.", "ssl.truststore.", "ssl.key."))
)
"""What may be exchanged while a broker runs, for single listeners only.

Source: SslConfigs.RECONFIGURABLE_CONFIGS.
"""


def key_of_listener(name: str) -> tuple[str, str] | None:
    """Return the listener, in capitals, and the key that ``name`` sets; None of any other name.

    Kafka writes listeners in small letters here, whatever they are called.
    """
    match = _NAME.fullmatch(name)
    if match is None or match["listener"] != match["listener"].lower():
        return None
    return match["listener"].upper(), match["key"]


def columns_of_listeners(names: Iterable[str]) -> dict[str, ConfigKey]:
    """Return what is known of those ``names`` that set a key of a listener, by name."""
    found = {name: key_of_listener(name) for name in names}
    return {
        name: replace(BROKER_KEYS[listener_key[1]], name=name)
        for name, listener_key in found.items()
        if listener_key is not None and listener_key[1] in PER_LISTENER
    }


def key_of_all(name: str) -> str:
    """Return the key that ``name`` sets, of one listener or of all."""
    found = key_of_listener(name)
    return name if found is None else found[1]


def column_of(name: str) -> ConfigKey | None:
    """Return what is known of a broker's key, be it of one listener; None of one that is not."""
    return BROKER_KEYS.get(name) or columns_of_listeners([name]).get(name)


def of_all_listeners(configs: Mapping[str, TextT]) -> dict[str, TextT]:
    """Return what is set for all listeners of a broker, and for what is no listener."""
    return {name: text for name, text in configs.items() if not name.startswith(PREFIX)}


def of_listener(configs: Mapping[str, str], listener: str) -> dict[str, str]:
    """Return what holds at one listener, by the names of its keys: its own before all others'."""
    own: dict[str, str] = {}
    for name, text in configs.items():
        found = key_of_listener(name)
        if found is not None and found[0] == listener.upper():
            own[found[1]] = text
    return {**of_all_listeners(configs), **own}
