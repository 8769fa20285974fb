"""From a broker's configuration to what its listeners ask for and what its own clients bring along.

Nothing is asked and brought along at PLAINTEXT.
"""

from __future__ import annotations

from protocol.configs.broker import BrokerConfig
from protocol.principal_mapping import PrincipalMapping
from protocol.security.listeners import SecurityProtocol
from protocol.security.tls import client_context, principal_by_certificate, server_context
from protocol.transport.door import NO_KEY, Door, Key


def door_of(listener: str, protocol: SecurityProtocol, config: BrokerConfig) -> Door:
    """Return the door of one listener.

    Raises:
        TlsConfigError: the configuration makes no TLS context.
    """
    door = Door(listener)
    if protocol.is_tls:
        context = server_context(config)
        mapping = PrincipalMapping(config.ssl_principal_mapping_rules)
        by_certificate = principal_by_certificate(mapping.name_of)
        door = door._replace(tls=context, principal_of=by_certificate)
    return door


def key_of(protocol: SecurityProtocol, config: BrokerConfig) -> Key:
    """Return what a node brings along to another one.

    Raises:
        TlsConfigError: as ``door_of``.
    """
    return Key(tls=client_context(config)) if protocol.is_tls else NO_KEY
