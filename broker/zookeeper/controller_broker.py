"""The connection to the broker that is the controller, wherever ``/controller`` says that it is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from protocol.errors import ErrorCode
from protocol.ports import RpcPort
from protocol.zookeeper import paths
from protocol.zookeeper.znodes import BrokerZnode, ControllerZnode, decode, endpoint_of
from protocol.zookeeper_client.port import ZookeeperPort

_RETRY_MS: Final = 100
"""As NodeToControllerRequestThread: how long an answer of a broker that is no controller is old."""
_ROWS: Final = ("topics", "responses", "results", "replica_election_results")
"""Of answers that say of each topic, or user, what became of it."""
logger = logging.getLogger(__name__)


class OwnController(NamedTuple):
    """The controller behind a broker that stands for election."""

    broker_id: int
    connect: Callable[[], RpcPort]


class ControllerBroker:
    """An ``RpcPort``: looks the controller up at first, after a failure, and when it is another.

    One that is none any more answers some questions as if it were, by what it has not heard yet.
    """

    def __init__(
        self,
        zookeeper: ZookeeperPort,
        connect: Callable[[str, int], RpcPort],
        listener: str,
        own: OwnController | None = None,
    ) -> None:
        """Prepare.

        Args:
            zookeeper: where it is looked up.
            connect: makes a connection to another broker.
            listener: by which brokers are asked.
            own: asked itself, when its broker is the controller.
        """
        self._zookeeper = zookeeper
        self._connect = connect
        self._own = own
        self._listener = listener
        self._connection: RpcPort | None = None
        self._is_another = False
        """Whether ``/controller`` has changed since it was looked at."""

    async def request(self, message: Any, version: int, *, timeout_ms: int | None = None) -> Any:
        """Ask the controller, and the next one when that one is no controller any more.

        Raises:
            ConnectionError: there is none, or it cannot be reached.
            TimeoutError: no answer in ``timeout_ms``.
        """
        async with asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000):
            while True:
                answer = await self._ask(message, version, timeout_ms)
                if not _is_no_controller(answer):
                    return answer
                self.close()
                await asyncio.sleep(_RETRY_MS / 1000)

    def close(self) -> None:
        """Drop the connection; the next request looks the controller up again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _ask(self, message: Any, version: int, timeout_ms: int | None) -> Any:
        if self._is_another:
            self.close()
        if self._connection is None:
            self._is_another = False
            self._connection = await self._find()
        try:
            return await self._connection.request(message, version, timeout_ms=timeout_ms)
        except (ConnectionError, TimeoutError):
            self.close()
            raise

    def _changed(self) -> None:
        self._is_another = True

    async def _find(self) -> RpcPort:
        found = await self._zookeeper.find(paths.CONTROLLER, self._changed)
        if found is None:
            raise ConnectionError("ZooKeeper knows no controller")
        broker_id = decode(found.data, ControllerZnode, paths.CONTROLLER).brokerid
        if self._own is not None and broker_id == self._own.broker_id:
            return self._own.connect()
        path = paths.broker_path(broker_id)
        registered = await self._zookeeper.get(path)
        if registered is None:
            raise ConnectionError(f"the controller, broker {broker_id}, is not registered")
        try:
            host, port = endpoint_of(decode(registered, BrokerZnode, path), self._listener)
        except KeyError:
            text = f"the controller, broker {broker_id}, has no listener {self._listener}"
            raise ConnectionError(text) from None
        return self._connect(host, port)


def _is_no_controller(answer: Any) -> bool:
    """Tell whether the answer is a refusal, as a whole or of all that was asked for."""
    if hasattr(answer, "error_code") and answer.error_code != ErrorCode.NONE:
        return answer.error_code == ErrorCode.NOT_CONTROLLER
    rows = [row for name in _ROWS for row in getattr(answer, name, None) or ()]
    codes = [getattr(row, "error_code", ErrorCode.NONE) for row in rows]
    return bool(codes) and all(code == ErrorCode.NOT_CONTROLLER for code in codes)
