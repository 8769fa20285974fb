"""Hears that something changed, by what Apache Kafka puts below folders of ZooKeeper to tell so.

What changed is not read: all is asked for again, be it ACLs or delegation tokens.
Source: AclAuthorizer, ZkAclChangeStore, DelegationTokenManagerZk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from protocol.zookeeper_client.changes import Changes
from protocol.zookeeper_client.port import ZookeeperPort


class FolderChanges(Changes):
    """``run`` it once; ``look`` whenever there may be news."""

    def __init__(self, zookeeper: ZookeeperPort, what: str, folders: Sequence[str]) -> None:
        """``what`` changes is told below ``folders``, which need not be there."""
        super().__init__(what)
        self.told: Callable[[], None] = lambda: None
        self._zookeeper, self._folders = zookeeper, folders
        self._seen: list[list[str]] | None = None
        """Names of changes by folder; None before the first look."""

    async def tell(self) -> None:
        """Tell that there is something new; of what was there before the first call nothing."""
        names = [await self._names(folder) for folder in self._folders]
        if self._seen is not None and names != self._seen:
            self.told()
        self._seen = names

    async def _names(self, folder: str) -> list[str]:
        if await self._zookeeper.find(folder, self.look) is None:
            return []  # Its creation is watched.
        return sorted(await self._zookeeper.children(folder, self.look))
