"""The faults of a plan on a simulated cluster: set, cleared and counted by their names.

What a fault does is done by disks, links and connections.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from broker.core.request_rules import RequestRule
from broker.storage.fault_rules import FaultRule
from protocol.faults.model import BrokerFault, DiskFault, NetworkFault, NetworkMode
from protocol.faults.requests import RequestFault
from simulation.world.cluster import SimCluster
from simulation.world.drive import Drive
from simulation.world.links import LinkRule
from simulation.world.node import BrokerNode


class FaultRefusedError(Exception):
    """A fault cannot be set; the text says why."""


@dataclass(frozen=True, slots=True)
class _InForce:
    """A fault that was set: how to count it and how to take it off."""

    hits: Callable[[], int]
    clear: Callable[[], None]


class FaultPlane:
    """All faults of one cluster. A fault stays when processes come and go."""

    def __init__(self, cluster: SimCluster) -> None:
        self._cluster = cluster
        self._links = cluster.loop.network.links
        self._faults: dict[str, _InForce] = {}

    def add(self, name: str, fault: BrokerFault) -> None:
        """Set a fault under a name of its own.

        Raises:
            FaultRefusedError: it cannot be set here.
        """
        if name in self._faults:
            raise FaultRefusedError(f"a fault is named {name} already")
        self._note(name, "begins")
        if isinstance(fault, DiskFault):
            self._faults[name] = self._set_on_disks(fault)
        elif isinstance(fault, RequestFault):
            self._faults[name] = self._set_on_requests(fault)
        else:
            self._faults[name] = self._set_on_links(fault)

    def clear(self, name: str) -> None:
        """Take a fault off, once or again; its hits stay known."""
        self._note(name, "ends")
        self._faults[name].clear()

    def clear_all(self) -> None:
        """Take all faults off."""
        for name in self._faults:
            self.clear(name)

    def hits(self) -> dict[str, int]:
        """Return how much each fault has met, those cleared included."""
        return {name: fault.hits() for name, fault in self._faults.items()}

    def _set_on_disks(self, fault: DiskFault) -> _InForce:
        rules = [(drive, FaultRule(fault)) for drive in self._drives(fault)]
        for drive, rule in rules:
            drive.faults.add_rule(rule)

        def clear() -> None:
            for drive, rule in rules:
                drive.drop_rule(rule)

        return _InForce(lambda: sum(rule.hits for _, rule in rules), clear)

    def _drives(self, fault: DiskFault) -> list[Drive]:
        node = self._cluster.nodes.get(fault.node)
        if node is None:
            raise FaultRefusedError(f"no node is named {fault.node}")
        found = [drive for path, drive in node.drives.items() if fault.log_dir in {None, path}]
        if not found:
            raise FaultRefusedError(f"{fault.node} has no log dir {fault.log_dir}")
        return found

    def _set_on_requests(self, fault: RequestFault) -> _InForce:
        node = self._cluster.nodes.get(fault.node)
        if not isinstance(node, BrokerNode):
            raise FaultRefusedError(f"no broker is named {fault.node}")
        rule = RequestRule(fault)
        node.lay_request_rule(rule)
        return _InForce(lambda: rule.hits, lambda: node.drop_request_rule(rule))

    def _set_on_links(self, fault: NetworkFault) -> _InForce:
        if fault.mode is NetworkMode.HALF_OPEN:
            count = self._cluster.loop.network.half_open(fault.source, fault.target)
            if not count:
                raise FaultRefusedError(
                    f"{fault.source} and {fault.target} have no connection that could be dead"
                )
            return _InForce(lambda: count, lambda: None)
        rule = self._links.add_rule(LinkRule.of(fault))
        return _InForce(lambda: rule.hits, lambda: self._links.remove_rule(rule))

    def _note(self, name: str, what: str) -> None:
        loop = self._cluster.loop
        loop.trace.note(loop.now_us, "world", f"fault {name} {what}")
