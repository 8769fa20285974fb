"""Stands for election: whoever makes ``/controller`` and raises ``/controller_epoch`` has won.

Source: KafkaController.elect, KafkaZkClient.registerControllerAndIncrementControllerEpoch.
"""

from __future__ import annotations

import asyncio
import logging

from controller.zookeeper.term import Term
from protocol.ports import WallClock
from protocol.zookeeper import paths
from protocol.zookeeper.operations import ANY_VERSION, Check, Create, Set
from protocol.zookeeper.znodes import ControllerZnode, encode
from protocol.zookeeper_client.port import Found, NotCommittedError, ZookeeperPort

_NO_KRAFT_EPOCH = -1
logger = logging.getLogger(__name__)


class Election:
    """Of one broker; ``win`` it as often as its term has ended."""

    def __init__(self, zookeeper: ZookeeperPort, broker_id: int, clock: WallClock) -> None:
        self._zookeeper = zookeeper
        self._broker_id = broker_id
        self._clock = clock
        self._news = asyncio.Event()
        self._is_over = False

    def stop(self) -> None:
        """Stand no more."""
        self._is_over = True
        self._news.set()

    async def win(self) -> Term | None:
        """Stand until elected, None: until ``stop``. A broker that is not registered waits."""
        self._zookeeper.on_connected = self._news.set
        while not self._is_over:
            self._news.clear()
            try:
                term = await self._stand()
            except ConnectionError as error:
                logger.info("the election waits for ZooKeeper: %s", error)
                term = None
            if term is not None:
                logger.info("elected, controller epoch %d", term.controller_epoch)
                return term
            await self._news.wait()
        return None

    async def resign(self, term: Term) -> None:
        """Have others stand now, unless they could already."""
        try:
            found = await self._zookeeper.find(paths.CONTROLLER)
            if found is not None and found.owner == term.session:
                await self._zookeeper.delete(paths.CONTROLLER)
        except ConnectionError as error:
            logger.info("%s goes with its session: %s", paths.CONTROLLER, error)

    async def _stand(self) -> Term | None:
        """Try once; what is asked before is little, as others try as well."""
        zookeeper, session = self._zookeeper, self._zookeeper.session
        if await zookeeper.find(paths.CONTROLLER, self._news.set) is not None:
            return None
        found = await zookeeper.find(paths.CONTROLLER_EPOCH)
        if found is None:
            await zookeeper.ensure(paths.CONTROLLER_EPOCH, b"0")
            found = Found(b"0", 0, 0, 0)
        if session is None or session != zookeeper.session:
            raise ConnectionError("the session is over")
        registration = paths.broker_path(self._broker_id)
        epoch = int(found.data) + 1
        try:
            await zookeeper.commit(
                [
                    Check(registration, ANY_VERSION),
                    Create(paths.CONTROLLER, self._znode(), is_ephemeral=True),
                    Set(paths.CONTROLLER_EPOCH, b"%d" % epoch, found.version),
                ]
            )
        except NotCommittedError:
            if await zookeeper.find(registration, self._news.set) is not None:
                self._news.set()  # Another broker was faster.
            return None
        return Term(epoch, found.version + 1, session)

    def _znode(self) -> bytes:
        return encode(
            ControllerZnode(
                brokerid=self._broker_id,
                timestamp=str(self._clock.now_ms()),
                kraft_controller_epoch=_NO_KRAFT_EPOCH,
            )
        )
