"""Hears of changed settings by the znodes below ``/config/changes``.

What they tell is asked for again by whoever is told; what changed before the first look is not
told: a broker that starts reads all settings anyway. Source: ZkNodeChangeNotificationListener.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from protocol.zookeeper.paths import CONFIG_CHANGE_PREFIX, CONFIG_CHANGES
from protocol.zookeeper.znodes import ConfigChangeZnode, MalformedZnode, decode
from protocol.zookeeper_client.changes import Changes
from protocol.zookeeper_client.port import ZookeeperPort

logger = logging.getLogger(__name__)


class ConfigChanges(Changes):
    """``run`` it once; ``look`` whenever there may be news."""

    def __init__(self, zookeeper: ZookeeperPort) -> None:
        super().__init__("settings")
        self.told: Callable[[str], None] = lambda _entity_path: None
        """Called with ``topics/foo``, ``brokers/1`` or ``brokers/<default>``."""
        self._zookeeper = zookeeper
        self._seen: int | None = None
        """The last number that was told; None before the first look."""

    async def tell(self) -> None:
        """Tell what is new; of the first call that is nothing.

        Raises:
            ConnectionError: ZooKeeper does not answer.
        """
        names = sorted(await self._zookeeper.children(CONFIG_CHANGES, self.look))
        width = len(CONFIG_CHANGE_PREFIX) - len(CONFIG_CHANGES) - 1
        last = self._seen
        for name in names:
            number = int(name[width:])
            if last is not None and number > last:
                await self._tell_one(f"{CONFIG_CHANGES}/{name}")
            self._seen = max(number, -1 if self._seen is None else self._seen)
        if self._seen is None:
            self._seen = -1

    async def _tell_one(self, path: str) -> None:
        data = await self._zookeeper.get(path)
        if data is None:
            return
        try:
            self.told(decode(data, ConfigChangeZnode, path).entity_path)
        except MalformedZnode as error:
            logger.error("a change of settings cannot be read: %s", error)  # noqa: TRY400 - a peer's value
