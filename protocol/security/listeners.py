"""Where a broker listens and what it tells clients of that, from Kafka's keys for listeners.

Source: KafkaConfig.effectiveListenerSecurityProtocolMap, CoreUtils.listenerListToEndPoints.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from protocol.configs.listener_keys import PREFIX, of_listener

LISTENERS: Final = "listeners"
ADVERTISED_LISTENERS: Final = "advertised.listeners"
PROTOCOL_MAP: Final = "listener.security.protocol.map"
INTER_BROKER_LISTENER: Final = "inter.broker.listener.name"
INTER_BROKER_PROTOCOL: Final = "security.inter.broker.protocol"
CONTROL_PLANE_LISTENER: Final = "control.plane.listener.name"
_CLIENT_AUTH: Final = "ssl.client.auth"
ALL_INTERFACES: Final = "0.0.0.0"
_PORT_MAX: Final = 65_535
_ENTRY: Final = re.compile(r"(?P<name>[^:/]+)://\[?(?P<host>[0-9a-zA-Z\-%._:]*?)\]?:(?P<port>\d+)")


class SecurityProtocol(IntEnum):
    """What is spoken at a listener, with Kafka's numbers. Source: SecurityProtocol.java."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3

    @property
    def is_tls(self) -> bool:
        """Whether bytes are encrypted."""
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def is_sasl(self) -> bool:
        """Whether clients have to authenticate by SASL."""
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


class Endpoint(NamedTuple):
    """One entry of ``listeners`` or ``advertised.listeners``."""

    name: str
    """In capitals."""
    host: str
    """"" for Kafka's empty one."""
    port: int


class Listener(NamedTuple):
    """One listener of a broker."""

    name: str
    protocol: SecurityProtocol
    bind_host: str
    port: int
    advertised_host: str
    advertised_port: int


def plain_listener(
    bind_host: str, port: int, advertised_host: str, advertised_port: int
) -> Listener:
    """Return the one listener of a broker that is given no ``listeners``."""
    protocol = SecurityProtocol.PLAINTEXT
    return Listener(protocol.name, protocol, bind_host, port, advertised_host, advertised_port)


class ControlPlane(NamedTuple):
    """By what the controller and brokers ask each other."""

    listener: str | None
    """Of brokers, by its name; None: the one by which brokers ask each other."""
    protocol: SecurityProtocol
    """The controller's own port speaks it, too."""


class ListenersError(ValueError):
    """Keys that make no listeners: the key at fault, and one sentence."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__(f"{key}: {text}")
        self.key = key
        self.text = text


def listeners_of(configs: Mapping[str, str], own: Listener) -> tuple[Listener, ...]:
    """Return a broker's listeners; that of the other brokers and the controller comes first.

    Args:
        configs: by Kafka's names; others than those for listeners are passed over.
        own: what the broker's own words in the cluster file say, which holds without ``listeners``.

    Raises:
        ListenersError: the keys make none.
    """
    bound = _endpoints(configs, LISTENERS)
    advertised = {each.name: each for each in _endpoints(configs, ADVERTISED_LISTENERS)}
    protocols = _protocols(configs)
    found = [_listener(each, advertised, protocols, own) for each in bound] or [own]
    names = [each.name for each in found]
    for name in advertised:
        if name not in names:
            raise ListenersError(
                ADVERTISED_LISTENERS, f"{name} is none of the listeners {', '.join(names)}"
            )
    first = _inter_broker_name(configs, names, {each.name: each.protocol for each in found})
    _check_control_plane(configs, names, first)
    return tuple(sorted(found, key=lambda each: each.name != first))


def protocol_between_nodes(configs: Mapping[str, str]) -> SecurityProtocol:
    """Return what brokers and the controller speak with each other, as ``configs`` say.

    Raises:
        ListenersError: they name no protocol.
    """
    name = configs.get(INTER_BROKER_LISTENER)
    if not name:
        return _protocol(INTER_BROKER_PROTOCOL, configs.get(INTER_BROKER_PROTOCOL, "PLAINTEXT"))
    return _protocol_at(configs, name.upper())


def control_plane_of(configs: Mapping[str, str]) -> ControlPlane:
    """Return by what the controller and brokers ask each other, as ``configs`` say.

    Raises:
        ListenersError: they name no protocol.
    """
    name = configs.get(CONTROL_PLANE_LISTENER, "").upper()
    if not name:
        return ControlPlane(None, protocol_between_nodes(configs))
    return ControlPlane(name, _protocol_at(configs, name))


def configs_at(
    listener: str, protocol: SecurityProtocol, configs: Mapping[str, str]
) -> dict[str, str]:
    """Return what holds at one listener; SASL_SSL asks for certificates by its own word alone.

    Source: ChannelBuilders.channelBuilderConfigs, KIP-684.
    """
    found = of_listener(configs, listener)
    own = f"{PREFIX}{listener.lower()}.{_CLIENT_AUTH}"
    if protocol is SecurityProtocol.SASL_SSL and own not in configs:
        found[_CLIENT_AUTH] = "none"
    return found


def configs_of_control_plane(configs: Mapping[str, str]) -> dict[str, str]:
    """Return what holds between the controller and brokers.

    Raises:
        ListenersError: as ``control_plane_of``.
    """
    listener, protocol = control_plane_of(configs)
    name = listener or configs.get(INTER_BROKER_LISTENER) or protocol.name
    return configs_at(name, protocol, configs)


def _protocol_at(configs: Mapping[str, str], name: str) -> SecurityProtocol:
    protocols = _protocols(configs)
    if name not in protocols:
        raise ListenersError(PROTOCOL_MAP, f"has no protocol for the listener {name}")
    return protocols[name]


def _check_control_plane(configs: Mapping[str, str], names: list[str], first: str) -> None:
    name = configs.get(CONTROL_PLANE_LISTENER, "").upper()
    if name and name not in names:
        raise ListenersError(
            CONTROL_PLANE_LISTENER, f"{name} is none of the listeners {', '.join(names)}"
        )
    if name == first:
        raise ListenersError(
            CONTROL_PLANE_LISTENER,
            f"is {name}, by which brokers ask each other; leave it out to have one for both",
        )


def _listener(
    bound: Endpoint,
    advertised: Mapping[str, Endpoint],
    protocols: Mapping[str, SecurityProtocol],
    own: Listener,
) -> Listener:
    if bound.name not in protocols:
        raise ListenersError(
            LISTENERS, f"no security protocol is given to {bound.name} in {PROTOCOL_MAP}"
        )
    told = advertised.get(bound.name, bound)
    if told.host == ALL_INTERFACES and bound.name in advertised:
        raise ListenersError(
            ADVERTISED_LISTENERS,
            f"cannot use the nonroutable meta-address {ALL_INTERFACES}; use a routable address",
        )
    host = own.advertised_host if told.host in ("", ALL_INTERFACES) else told.host
    bind_host = bound.host or ALL_INTERFACES
    return Listener(bound.name, protocols[bound.name], bind_host, bound.port, host, told.port)


def _inter_broker_name(
    configs: Mapping[str, str], names: list[str], protocols: Mapping[str, SecurityProtocol]
) -> str:
    name = configs.get(INTER_BROKER_LISTENER, "").upper()
    if name and configs.get(INTER_BROKER_PROTOCOL):
        raise ListenersError(
            INTER_BROKER_LISTENER, f"only one of it and {INTER_BROKER_PROTOCOL} should be set"
        )
    if name in names:
        return name
    if name:
        raise ListenersError(
            INTER_BROKER_LISTENER, f"{name} is none of the listeners {', '.join(names)}"
        )
    protocol = protocol_between_nodes(configs)
    for each in names:
        if protocols[each] is protocol:
            return each
    raise ListenersError(
        INTER_BROKER_PROTOCOL,
        f"is {protocol.name}, which none of the listeners {', '.join(names)} speaks; "
        f"set {INTER_BROKER_LISTENER}",
    )


def _endpoints(configs: Mapping[str, str], key: str) -> list[Endpoint]:
    found: list[Endpoint] = []
    for entry in _entries(configs.get(key, "")):
        match = _ENTRY.fullmatch(entry)
        if match is None or int(match["port"]) > _PORT_MAX:
            raise ListenersError(key, f"expected NAME://host:port, got {entry!r}")
        name, port = match["name"].upper(), int(match["port"])
        if any(each.name == name for each in found):
            raise ListenersError(key, f"each listener must have a different name, {name} has two")
        if key == LISTENERS and any(each.port == port for each in found):
            raise ListenersError(key, f"each listener must have a different port, {port} has two")
        found.append(Endpoint(name, match["host"], port))
    return found


def _protocols(configs: Mapping[str, str]) -> dict[str, SecurityProtocol]:
    text = configs.get(PROTOCOL_MAP)
    if text is None:
        return {each.name: each for each in SecurityProtocol}
    found: dict[str, SecurityProtocol] = {}
    for entry in _entries(text):
        name, colon, protocol = entry.partition(":")
        if not colon:
            raise ListenersError(PROTOCOL_MAP, f"expected NAME:PROTOCOL, got {entry!r}")
        found[name.strip().upper()] = _protocol(PROTOCOL_MAP, protocol.strip())
    return found


def _protocol(key: str, name: str) -> SecurityProtocol:
    try:
        return SecurityProtocol[name.upper()]
    except KeyError:
        known = ", ".join(each.name for each in SecurityProtocol)
        raise ListenersError(key, f"must be one of {known}, is {name}") from None


def _entries(text: str) -> Iterator[str]:
    return (entry.strip() for entry in text.split(",") if entry.strip())
