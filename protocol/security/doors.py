"""From a broker's configuration to what its listeners ask for and what its own clients bring along.

Nothing is asked and brought along at PLAINTEXT.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from protocol.configs.broker import BrokerConfig
from protocol.connection import SaslServerConnection, ServerConnection
from protocol.principal_mapping import PrincipalMapping
from protocol.security.client import security_between_nodes
from protocol.security.listeners import SecurityProtocol
from protocol.security.renewal import renewed
from protocol.security.sasl_client import authenticates
from protocol.security.sasl_gate import SaslGate
from protocol.security.sasl_session import SaslSession
from protocol.security.tls import client_context, principal_by_certificate, server_context
from protocol.security.users import FindToken, Stored, mechanisms_of
from protocol.transport.door import Door, Entrance, Key
from protocol.transport.link_owner import Dispatch


def door_of(
    listener: str,
    protocol: SecurityProtocol,
    config: BrokerConfig,
    wall_ms: Callable[[], int],
    stored: Stored | None = None,
    token: FindToken | None = None,
) -> Door:
    """Return the door of one listener, with what finds ``stored`` SCRAM credentials and tokens.

    ``wall_ms`` tells the time of day, by which tokens hold.

    Raises:
        SecurityConfigError: the configuration makes no TLS context.
    """
    door = Door(listener)
    if protocol.is_tls:
        context = renewed(partial(server_context, config), config)
        mapping = PrincipalMapping(config.ssl_principal_mapping_rules)
        by_certificate = principal_by_certificate(mapping.name_of)
        door = door._replace(tls=context, principal_of=by_certificate)
    if protocol.is_sasl:
        mechanisms = mechanisms_of(config, wall_ms, stored, token)
        unknown_bytes_max = config.sasl_server_max_receive_size

        def admit(entrance: Entrance, connection: ServerConnection, behind: Dispatch) -> Dispatch:
            assert isinstance(connection, SaslServerConnection)
            session = SaslSession(mechanisms, lifetime_ms_max=config.connections_max_reauth_ms)
            delay_ms = config.connection_failed_authentication_delay_ms
            return SaslGate(entrance, connection, behind, session, delay_ms).dispatch

        make = partial(SaslServerConnection, unknown_bytes_max=unknown_bytes_max)
        door = door._replace(admit=admit, make_connection=make, principal_of=None)
    return door


def key_of(protocol: SecurityProtocol, config: BrokerConfig) -> Key:
    """Return what a node brings along to another one.

    Raises:
        SecurityConfigError: as ``door_of``.
    """
    tls, login = security_between_nodes(protocol, config)
    if tls is not None:
        tls = renewed(partial(client_context, config), config)
    return Key(tls, None if login is None else authenticates(login))
