"""From what a broker is configured to, at each listener, to how many connections it takes.

Source: SocketServer.scala ConnectionQuotas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from broker.core.client_quotas.connection_rates import ConnectionRates
from broker.doors import Doors
from broker.lifecycle.broker_configs import BrokerConfigs
from protocol.configs.broker import BrokerConfig
from protocol.configs.connection_counts import counts_by_address
from protocol.configs.parsing import BrokerOverrides
from protocol.connection import Peer
from protocol.transport.arrivals import Arrival, Arrive
from protocol.transport.connection_watch import ConnectionLimits, connection_limits
from protocol.transport.rpc_server import RpcServer


def follow_limits(
    server: RpcServer,
    configs: BrokerConfigs,
    doors: Doors,
    rates: ConnectionRates,
    loop_ms: Callable[[], int],
) -> None:
    """Have a server, and what counts arrivals, go by the limits as they are set, now and later."""

    def arrive(peer: Peer) -> Arrival:
        return rates.arrive(peer.host, loop_ms(), peer.listener)

    def follow(_overrides: BrokerOverrides) -> None:
        server.limit(connection_counts(configs.config, doors.configs, arrive))
        limit_rates(rates, configs.config, doors.configs)

    follow(configs.overrides)
    configs.followers.append(follow)


def connection_counts(
    config: BrokerConfig, at_listeners: Mapping[str, BrokerConfig], arrive: Arrive
) -> ConnectionLimits:
    """Return how many connections may be; ``at_listeners`` has that of the nodes first.

    Where there are several listeners, what clients take leaves the nodes' one alone. ``arrive``
    tells what becomes of a connection beside that.
    """
    return replace(
        connection_limits(config),
        count_max_of={name: each.max_connections for name, each in at_listeners.items()},
        spared=spared_listener(at_listeners),
        arrive=arrive,
        count_max_of_host=counts_by_address(config.max_connections_per_ip_overrides),
    )


def limit_rates(
    rates: ConnectionRates, config: BrokerConfig, at_listeners: Mapping[str, BrokerConfig]
) -> None:
    """Have ``rates`` go by the configuration from now on."""
    rates.limit(
        config.max_connection_creation_rate,
        {name: each.max_connection_creation_rate for name, each in at_listeners.items()},
        spared=spared_listener(at_listeners),
    )


def spared_listener(at_listeners: Mapping[str, BrokerConfig]) -> str | None:
    """Return the listener that the broker's own limits are not about, if there is one."""
    return next(iter(at_listeners)) if len(at_listeners) > 1 else None
