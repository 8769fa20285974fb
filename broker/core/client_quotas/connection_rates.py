"""How many connections a second the broker, each listener and each address may open.

An address above its rate is kept waiting and then refused, so that it cannot try again at once.
Above the rate of the broker or of a listener everybody waits and is served. No wait is longer than
a sample lasts.
Source: SocketServer.scala ConnectionQuotas, KIP-612.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from typing import Final

from broker.core.client_quotas.sampled_rate import SampledRate, Sampling
from protocol.client_address import java_address
from protocol.client_quotas.entities import CONNECTION_CREATION_RATE, IP, Quotas
from protocol.configs.broker import INT_MAX, BrokerConfig
from protocol.connection import DEFAULT_LISTENER
from protocol.transport.arrivals import SERVED_AT_ONCE, Arrival

_LEAST: Final = 1e-6
"""What a rate of 0 counts as."""
KNOWN_MAX: Final = 10_000
"""Addresses whose rates are kept; from there on those go that no longer matter."""


class ConnectionRates:
    """The rates of one broker. ``replace`` the quotas when they changed."""

    def __init__(self, config: BrokerConfig, *, known_max: int = KNOWN_MAX) -> None:
        """Limit no address yet. ``known_max``: addresses whose rates are kept."""
        self._known_max = known_max
        self._sampling = Sampling(config.quota_window_num, config.quota_window_size_seconds * 1000)
        self._broker_limit = float(config.max_connection_creation_rate)
        self._of_broker = SampledRate(self._sampling)
        self._listener_limits: Mapping[str, float] = {}
        self._spared: str | None = None
        self._of_listeners = defaultdict[str, SampledRate](partial(SampledRate, self._sampling))
        self._of_hosts: dict[str, SampledRate] = {}
        self._limits: dict[str | None, float] = {}
        """By address; None: of those that have none of their own."""

    def replace(self, quotas: Quotas) -> None:
        """Go by these from now on; what was counted still counts."""
        self._limits = {
            entity[0][1] and java_address(entity[0][1]): limits[CONNECTION_CREATION_RATE]
            for entity, limits in quotas.items()
            if entity[0][0] == IP and CONNECTION_CREATION_RATE in limits
        }

    def limit(
        self, broker: float, listeners: Mapping[str, float], *, spared: str | None = None
    ) -> None:
        """Go by these rates from now on, of the broker and of each listener.

        The broker's is not about ``spared``, the listener of the nodes.
        """
        self._broker_limit, self._listener_limits, self._spared = broker, listeners, spared

    def arrive(self, host: str, now_ms: int, listener: str = DEFAULT_LISTENER) -> Arrival:
        """Count a new connection and tell what becomes of it; a refused one was not counted."""
        limit = self._limits.get(host, self._limits.get(None))
        if limit is not None:
            rate = self._rate_of(host, now_ms)
            rate.record(1, now_ms)
            wait_ms = self._bounded(rate.throttle_ms(limit, now_ms))
            if wait_ms:
                rate.record(-1, now_ms)
                return Arrival(wait_ms, is_refused=True)
        at_listener = self._of_listeners[listener]
        wait_ms = self._wait_ms(at_listener, self._listener_limits.get(listener, INT_MAX), now_ms)
        if listener != self._spared:
            of_broker_ms = self._wait_ms(self._of_broker, self._broker_limit, now_ms)
            wait_ms = max(wait_ms, of_broker_ms)
        return Arrival(wait_ms) if wait_ms else SERVED_AT_ONCE

    def _wait_ms(self, rate: SampledRate, limit: float, now_ms: int) -> int:
        if limit >= INT_MAX:
            return 0
        rate.record(1, now_ms)
        return self._bounded(rate.throttle_ms(max(limit, _LEAST), now_ms))

    def _rate_of(self, host: str, now_ms: int) -> SampledRate:
        if host not in self._of_hosts:
            if len(self._of_hosts) >= self._known_max:
                self._of_hosts = {
                    it: rate for it, rate in self._of_hosts.items() if not rate.is_over(now_ms)
                }
            self._of_hosts[host] = SampledRate(self._sampling)
        return self._of_hosts[host]

    def _bounded(self, wait_ms: int) -> int:
        return min(wait_ms, self._sampling.sample_ms)
