"""SimCluster: the controller and the brokers of one cluster file in one world.

It starts, ends and breaks nodes. What a cluster should do about it is not known here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from broker.storage.faults import FaultyDisk
from protocol.cluster_file.spec import ClusterSpec
from protocol.metrics.writer import NewRowWriter
from protocol.witness import Witness, unwitnessed
from simulation.world.loop import SimLoop
from simulation.world.node import CONTROLLER, BrokerNode, ControllerNode, SimNode
from simulation.world.rows import NoRows

START_TIMEOUT_MS: Final = 60_000
STOP_TIMEOUT_MS: Final = 60_000
_LOOK_AGAIN_MS: Final = 10
_QUIET_ROOTS: Final = {"jbodlab.log.dir.watch.interval.ms": "2000"}
"""The root of a disk in memory goes nowhere: a look every 200 ms would be most of what happens."""


class SimCluster:
    """One cluster. Made on a SimLoop; every call is made while it runs."""

    def __init__(
        self,
        loop: SimLoop,
        spec: ClusterSpec,
        new_row_writer: NewRowWriter = NoRows,
        *,
        witness: Witness = unwitnessed,
    ) -> None:
        self.loop = loop
        self.spec = spec = _with_quiet_roots(spec)
        self.controller = ControllerNode(loop, spec, new_row_writer)
        self.brokers = {one.id: BrokerNode(loop, spec, one, new_row_writer) for one in spec.brokers}
        """By id."""
        self.nodes: dict[str, SimNode] = {
            CONTROLLER: self.controller,
            **{node.name: node for node in self.brokers.values()},
        }
        """By name: ``controller``, ``broker-1`` and so on."""
        for node in self.nodes.values():
            node.witness = witness

    async def start(self) -> None:
        """Start all nodes and wait until every broker serves and knows all the others.

        Raises:
            TimeoutError: they do not within ``START_TIMEOUT_MS``.
        """
        for node in self.nodes.values():
            node.start()
        await self.until(self.is_up, START_TIMEOUT_MS)

    def is_up(self) -> bool:
        """Tell whether all serve, and every broker is unfenced and knows all the others."""
        count = len(self.brokers)
        return self.controller.is_up and all(
            node.is_up and node.known_brokers == count for node in self.brokers.values()
        )

    async def stop(self) -> None:
        """Stop all nodes cleanly, the controller last."""
        for node in self.brokers.values():
            node.ask_to_end()
        await self.until(
            lambda: not any(node.is_running for node in self.brokers.values()), STOP_TIMEOUT_MS
        )
        self.controller.ask_to_end()
        await self.until(lambda: not self.controller.is_running, STOP_TIMEOUT_MS)

    async def until(self, condition: Callable[[], bool], timeout_ms: int) -> None:
        """Wait until ``condition`` holds, looked at every few virtual milliseconds.

        Raises:
            TimeoutError: it does not.
        """
        async with asyncio.timeout(timeout_ms / 1000):
            while not condition():  # noqa: ASYNC110 -- what holds in a world has no event
                await asyncio.sleep(_LOOK_AGAIN_MS / 1000)

    def node(self, name: str) -> SimNode:
        """Return a node.

        Raises:
            KeyError: there is none of this name.
        """
        return self.nodes[name]

    def faults(self, name: str, path: str) -> FaultyDisk:
        """Return where the faults of a node's disk are set; they outlive processes."""
        return self.nodes[name].drives[path].faults


def _with_quiet_roots(spec: ClusterSpec) -> ClusterSpec:
    brokers = tuple(
        replace(broker, configs={**_QUIET_ROOTS, **broker.configs}) for broker in spec.brokers
    )
    return replace(spec, brokers=brokers, configs={**_QUIET_ROOTS, **spec.configs})
