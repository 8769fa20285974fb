"""Leads a cluster of Apache Kafka in ZooKeeper mode, term by term, with the id of one broker.

It stands for election while that broker is registered; each term is a ``Controller`` of its own,
which begins with what ZooKeeper has.
"""

from __future__ import annotations

import asyncio
import logging
from random import Random
from typing import Final

from controller.app import Controller
from controller.zookeeper.election import Election
from controller.zookeeper.news import News
from controller.zookeeper.store import ZookeeperStore
from controller.zookeeper.term import Term, TermEndedError
from protocol.cluster_file.spec import ClusterSpec
from protocol.metrics.rows import RowOrigin
from protocol.metrics.writer import NewRowWriter
from protocol.ports import WallClock
from protocol.zookeeper_client.port import NoZookeeperError, ZookeeperPort

_PAUSE_MS: Final = 100
"""Between two terms: others may stand, too."""
logger = logging.getLogger(__name__)


class Terms:
    """Of one broker. ``run`` it once; ``stop`` ends it."""

    def __init__(
        self,
        spec: ClusterSpec,
        zookeeper: ZookeeperPort,
        clock: WallClock,
        random: Random,
        new_row_writer: NewRowWriter,
    ) -> None:
        """Prepare; ``spec.controller.id`` is the broker that is spoken for."""
        self.row_origin = RowOrigin()
        """As the controller's; to be set before ``run``."""
        self._spec = spec
        self._zookeeper = zookeeper
        self._clock = clock
        self._random = random
        self._new_row_writer = new_row_writer
        self._election = Election(zookeeper, spec.controller.id, clock)
        self._controller: Controller | None = None
        self._begins = asyncio.Event()
        """Set once there is a connection, or nobody needs one any more."""

    async def run(self) -> None:
        """Lead whenever elected, until ``stop``.

        Raises:
            NoZookeeperError: there was no connection within a session's timeout, at the start.
            MalformedZnode: what ZooKeeper has is not Kafka's.
            PortError, HalfDoneError: as ``Controller.run``.
        """
        try:
            await self._connect()
            while (term := await self._election.win()) is not None:
                await self._lead(term)
                await asyncio.sleep(_PAUSE_MS / 1000)
        finally:
            self._zookeeper.close()

    def stop(self) -> None:
        """End ``run``: another broker may stand at once."""
        self._begins.set()
        self._election.stop()
        if self._controller is not None:
            self._controller.stop()

    async def _connect(self) -> None:
        spec = self._spec.zookeeper
        assert spec is not None
        self._zookeeper.on_connected = self._begins.set
        self._zookeeper.start()
        try:
            async with asyncio.timeout(spec.session_timeout_ms / 1000):
                await self._begins.wait()
        except TimeoutError:
            raise NoZookeeperError(
                spec.connect,
                spec.session_timeout_ms,
                self._zookeeper.trouble,
                logs_in=spec.username is not None,
            ) from None

    async def _lead(self, term: Term) -> None:
        broker_id = self._spec.controller.id
        listener = self._spec.broker(broker_id).listeners[0].name
        store = ZookeeperStore(self._zookeeper, term, broker_id=broker_id, listener=listener)
        news = News(self._zookeeper, term, store.own_writes, broker_id=broker_id, listener=listener)
        controller = Controller(
            self._spec, store, self._clock, self._random, new_row_writer=self._new_row_writer
        )
        controller.news, controller.row_origin = news.follow, self.row_origin
        self._controller = controller
        try:
            await news.prepare()
            await controller.run()
        except* TermEndedError as group:
            reason = cause_of(group)
            logger.warning("the term of epoch %d is over: %s", term.controller_epoch, reason)
        finally:
            self._controller = None
            await self._election.resign(term)


def cause_of(error: BaseException) -> BaseException:
    """Return what is at the bottom of nested groups; the first failure ended all of them."""
    inner: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    return cause_of(inner[0]) if inner else error
