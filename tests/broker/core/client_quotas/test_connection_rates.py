"""Connections a second: an address above its quota is refused; all wait for the broker's rate."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from broker.core.client_quotas.connection_rates import ConnectionRates
from protocol.client_quotas.entities import Quotas, quota_entity
from protocol.configs.parsing import broker_config
from protocol.transport.arrivals import SERVED_AT_ONCE, Arrival

ONE, OTHER = "192.0.2.1", "192.0.2.2"
REFUSED = Arrival(1000, is_refused=True)


def quotas(**limits: float) -> Quotas:
    names = {"own": ONE, "default": None}
    return {
        quota_entity([("ip", names[whose])]): {"connection_creation_rate": limit}
        for whose, limit in limits.items()
    }


def made(known_max: int = 100, rate: int | None = None, **limits: float) -> ConnectionRates:
    configs = {} if rate is None else {"max.connection.creation.rate": str(rate)}
    found = ConnectionRates(broker_config(configs), known_max=known_max)
    found.replace(quotas(**limits))
    return found


def arrived(rates: ConnectionRates, count: int, host: str = ONE, now_ms: int = 0) -> list[Arrival]:
    return [rates.arrive(host, now_ms) for _ in range(count)]


def test_without_a_limit_all_are_served_at_once() -> None:
    assert arrived(made(), 1000) == [SERVED_AT_ONCE] * 1000


def test_an_address_above_its_quota_waits_and_is_refused() -> None:
    rates = made(own=1.0)
    assert arrived(rates, 12) == [SERVED_AT_ONCE] * 10 + [REFUSED] * 2
    assert arrived(rates, 100, OTHER) == [SERVED_AT_ONCE] * 100
    # Those that were refused were not counted: after the samples all is as it was.
    assert arrived(rates, 11, now_ms=11_000) == [SERVED_AT_ONCE] * 10 + [REFUSED]


def test_an_addresss_own_quota_goes_before_the_default() -> None:
    rates = made(own=2.0, default=1.0)
    assert arrived(rates, 21)[19:] == [SERVED_AT_ONCE, Arrival(500, is_refused=True)]
    assert arrived(rates, 11, OTHER) == [SERVED_AT_ONCE] * 10 + [REFUSED]


def test_above_the_brokers_rate_everybody_waits_a_sample_at_most_and_is_served() -> None:
    rates = made(rate=10)
    assert arrived(rates, 100) == [Arrival(0)] * 100
    assert arrived(rates, 1, OTHER) == [Arrival(100)]
    assert arrived(rates, 50)[-1] == Arrival(1000)


def test_at_a_rate_of_nothing_everybody_waits_a_sample() -> None:
    assert arrived(made(rate=0), 1) == [Arrival(1000)]


def test_addresses_whose_rates_no_longer_matter_are_forgotten() -> None:
    rates = made(known_max=2, default=1.0)
    arrived(rates, 10)
    arrived(rates, 10, OTHER, 10_000)
    arrived(rates, 1, "192.0.2.3", 12_000)
    assert len(rates._of_hosts) == 2
    assert arrived(rates, 1, now_ms=12_000) == [SERVED_AT_ONCE]
    assert arrived(rates, 1, OTHER, 12_000) == [REFUSED]


def test_the_quota_of_an_address_of_ipv6_holds_however_it_was_written() -> None:
    rates = ConnectionRates(broker_config({}))
    rates.replace({quota_entity([("ip", "::1")]): {"connection_creation_rate": 1.0}})
    assert arrived(rates, 11, "0:0:0:0:0:0:0:1")[10:] == [REFUSED]


def test_a_listener_has_a_rate_of_its_own_and_the_nodes_are_spared_that_of_the_broker() -> None:
    rates = made()
    rates.limit(20.0, {"CLIENTS": 10.0}, spared="NODES")

    def wait_ms(listener: str, count: int) -> int:
        return [rates.arrive(ONE, 0, listener) for _ in range(count)][-1].wait_ms

    assert wait_ms("CLIENTS", 100) == 0
    assert wait_ms("CLIENTS", 1) == 100
    assert wait_ms("OTHERS", 99) == 0
    assert wait_ms("OTHERS", 1) == 50, "201 of 20 a second"
    assert wait_ms("NODES", 1_000) == 0


def test_the_longer_of_two_waits_holds() -> None:
    rates = made()
    rates.limit(10.0, {"CLIENTS": 100.0})
    assert [rates.arrive(ONE, 0, "CLIENTS") for _ in range(101)][-1] == Arrival(100)
