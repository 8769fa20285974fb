"""From the configuration, and that at each listener, to limits on connections."""

from __future__ import annotations

from broker.connection_limits import connection_counts, limit_rates, spared_listener
from broker.core.client_quotas.connection_rates import ConnectionRates
from protocol.configs.parsing import broker_config
from protocol.transport.arrivals import SERVED_AT_ONCE, serve_at_once

ALL = broker_config(
    {
        "max.connections": "10",
        "max.connections.per.ip": "5",
        "max.connections.per.ip.overrides": "::1:7",
    }
)
NODES, CLIENTS = broker_config({"max.connections": "10"}), broker_config({"max.connections": "3"})


def test_each_listener_has_its_own_number_and_the_nodes_are_spared() -> None:
    limits = connection_counts(ALL, {"NODES": NODES, "CLIENTS": CLIENTS}, serve_at_once)
    assert (limits.count_max, limits.count_max_of) == (10, {"NODES": 10, "CLIENTS": 3})
    assert limits.spared == "NODES"
    assert limits.count_per_host_max == 5
    assert limits.count_max_of_host == {"0:0:0:0:0:0:0:1": 7}


def test_the_only_listener_is_not_spared() -> None:
    assert spared_listener({"NODES": NODES}) is None


def test_rates_follow_the_configuration() -> None:
    rates = ConnectionRates(broker_config({}))
    assert rates.arrive("10.0.0.1", 0, "CLIENTS") == SERVED_AT_ONCE
    slow = broker_config({"max.connection.creation.rate": "1"})
    limit_rates(rates, broker_config({}), {"NODES": NODES, "CLIENTS": slow})
    waits = [rates.arrive("10.0.0.1", 0, "CLIENTS").wait_ms for _ in range(12)]
    assert waits == [0] * 10 + [1000] * 2
    assert rates.arrive("10.0.0.1", 0, "NODES") == SERVED_AT_ONCE
