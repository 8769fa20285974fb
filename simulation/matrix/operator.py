"""Operator: who asks living brokers to take log dirs in again, as ``jbodlab log-dirs`` does.

It breaks and repairs no disks.
"""

from __future__ import annotations

from broker.lifecycle.log_dir_returns import Return, ReturnRefusedError, ReturnRequest
from simulation.matrix.retrying import Retrying
from simulation.world.cluster import SimCluster
from simulation.world.node import BrokerNode


class Operator:
    """The operator of one cluster."""

    def __init__(self, cluster: SimCluster, retrying: Retrying) -> None:
        self._cluster = cluster
        self._retrying = retrying

    def host(self, path: str) -> BrokerNode:
        """Return the broker that has this log dir."""
        return next(each for each in self._cluster.brokers.values() if path in each.drives)

    def is_online(self, path: str) -> bool:
        """Tell whether a log dir works; not while its broker is on its way."""
        broker = self.host(path).broker
        if broker is None or not broker.serving.done():
            return False
        return (
            path in broker.broker_control.log_dirs
            and broker.broker_control.log_dirs[path].is_online
        )

    async def ask(self, request: ReturnRequest) -> None:
        """Have a wish served to its end, behind an earlier one; nothing when it makes no sense."""
        asked = await self._begin(request)
        if asked is not None:
            await self._retrying.until(asked.ended.is_set)

    async def _begin(self, request: ReturnRequest) -> Return | None:
        host = self.host(request.path)
        async for _ in self._retrying.attempts():
            broker = host.broker
            if broker is None or not broker.serving.done():
                continue
            pending = broker.broker_control.returns.last(request.path)
            if pending is not None and not pending.ended.is_set():
                continue
            try:
                return host.call(broker.broker_control.returns.ask, request)
            except ReturnRefusedError:
                return None
        return None
