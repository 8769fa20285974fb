"""Taps the simulated network: every request is to be answered once.

Only connections to the listeners of brokers and the controller are followed; control endpoints
speak another protocol.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from simulation.core.exchanges import Exchange
from simulation.core.rebalances import Rebalances
from simulation.core.samples import Samples
from simulation.world.cluster import SimCluster
from simulation.world.transport import Segment, Signal, SimTransport

PATIENCE_US: Final = 35_000_000
"""A request that is open for longer, both ends being there, is never answered."""


class ExchangeSampler:
    """All connections of a cluster."""

    def __init__(
        self, cluster: SimCluster, samples: Samples, on_news: Callable[[], None] | None = None
    ) -> None:
        """``on_news`` is called at requests that may change something, and at their answers."""
        self._loop = cluster.loop
        self._on_news = on_news
        self._samples = samples
        self._ports = {
            cluster.spec.controller.port: "controller",
            **{broker.port: f"broker-{broker.id}" for broker in cluster.spec.brokers},
        }
        self._exchanges: dict[int, tuple[Exchange, SimTransport]] = {}
        """By the connection's number, with the server's end."""
        self._rebalances = {
            name: Rebalances(self._hears, samples.unheard) for name in self._ports.values()
        }

    @property
    def requests_count(self) -> int:
        """How many requests went over the connections that are still followed."""
        return sum(exchange.count for exchange, _ in self._exchanges.values())

    def start(self) -> None:
        """Begin to follow."""
        self._loop.network.tap(self._on_segment)

    def finish(self) -> None:
        """Write down what was never answered, and follow no more."""
        self._loop.network.tap(None)
        for exchange, server in self._exchanges.values():
            if _is_whole(server):
                now_us = self._loop.now_us
                self._samples.misanswers += exchange.unanswered(now_us, PATIENCE_US)

    def _hears(self, connection: str) -> bool:
        return any(
            exchange.name == connection and _is_whole(server)
            for exchange, server in self._exchanges.values()
        )

    def _on_segment(self, sender: SimTransport, segment: Segment) -> None:
        if isinstance(segment, Signal):
            found = self._exchanges.pop(sender.number, None)
            if found is not None:
                found[0].closed()
            return
        name = self._ports.get(sender.addresses["sockname"][1])
        if name is not None:
            self._on_answer(sender, segment)
            return
        name = self._ports.get(sender.addresses["peername"][1])
        if name is not None:
            found = self._exchanges.get(sender.number)
            if found is None:
                title = f"{sender.process.name} to {name} ({sender.number})"
                exchange = Exchange(title, self._rebalances[name])
                found = self._exchanges[sender.number] = (exchange, sender.peer)
            is_news = found[0].asked(segment, self._loop.now_us)
            if is_news and self._on_news is not None:
                self._on_news()

    def _on_answer(self, sender: SimTransport, segment: bytes) -> None:
        found = self._exchanges.get(sender.number)
        if found is None:
            return
        misanswers, is_news = found[0].answered(segment, self._loop.now_us)
        self._samples.misanswers += misanswers
        if is_news and self._on_news is not None:
            self._on_news()


def _is_whole(server: SimTransport) -> bool:
    return not any(end.is_lost or end.is_mute for end in (server, server.peer))
