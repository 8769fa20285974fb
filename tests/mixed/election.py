"""Looks into ZooKeeper for who is the controller, and has another one elected."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any

from kazoo.client import KazooClient  # pyright: ignore[reportMissingTypeStubs] - it has none
from kazoo.exceptions import NoNodeError  # pyright: ignore[reportMissingTypeStubs]

from protocol.zookeeper import paths
from protocol.zookeeper.znodes import ClusterIdZnode, ControllerZnode, decode
from tests.deadlines import DEADLINE_S
from tests.mixed.apache_nodes import ApacheNodes

NOBODY = -1


class Elections:
    """Of one cluster."""

    def __init__(self, nodes: ApacheNodes, zookeeper: Any) -> None:
        self._nodes = nodes
        self.zookeeper = zookeeper

    def controller_id(self) -> int:
        """Return which broker is the controller."""
        try:
            data, _ = self.zookeeper.get(paths.CONTROLLER)
        except NoNodeError:
            return NOBODY
        return decode(data, ControllerZnode, paths.CONTROLLER).brokerid

    def epoch(self) -> int:
        data, _ = self.zookeeper.get(paths.CONTROLLER_EPOCH)
        return int(data)

    def cluster_id(self) -> str:
        data, _ = self.zookeeper.get(paths.CLUSTER_ID)
        return decode(data, ClusterIdZnode, paths.CLUSTER_ID).id

    def children(self, path: str) -> list[str]:
        return self.zookeeper.get_children(path)

    def elect(self, is_wanted: Callable[[int], bool]) -> int:
        """Remove ``/controller`` until one that is wanted is elected; return it."""

        def is_elected() -> bool:
            found = self.controller_id()
            if found != NOBODY and not is_wanted(found):
                with suppress(NoNodeError):
                    self.zookeeper.delete(paths.CONTROLLER)
            return is_wanted(self.controller_id())

        self._nodes.wait_until(is_elected, "the wanted broker is the controller")
        return self.controller_id()


@contextmanager
def elections(nodes: ApacheNodes) -> Generator[Elections]:
    zookeeper = KazooClient(nodes.zookeeper_connect, **nodes.kazoo())
    zookeeper.start(DEADLINE_S)
    try:
        yield Elections(nodes, zookeeper)
    finally:
        zookeeper.stop()
        zookeeper.close()
