"""The controller that has this broker's id, when this broker stands for election in ZooKeeper.

It is a process of its own, which serves only while it is elected. What other brokers ask this one
as the controller is handed over to it. Source: KafkaApis, whose broker has its controller inside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from protocol.errors import ErrorCode, KafkaError
from protocol.ports import RpcPort

_TIMEOUT_MS: Final = 30_000
"""As controller.socket.timeout.ms."""


class ControllerBehind:
    """One connection per kind of request, so that none waits for one of another kind."""

    def __init__(self, connect: Callable[[], RpcPort] | None) -> None:
        """``connect`` makes one more connection to it; None: there is none, it is never elected.

        Then, too, brokers are told so: one that has asked a broker of Apache Kafka at this address
        looks for another controller by that answer alone.
        """
        self._connect = connect
        self._connections: dict[type[Any], RpcPort] = {}

    async def ask(self, request: Any, version: int) -> Any:
        """Hand a request over and return the answer.

        Raises:
            KafkaError: NOT_CONTROLLER, when it is not elected or does not answer.
        """
        if self._connect is None:
            raise KafkaError(ErrorCode.NOT_CONTROLLER)
        kind: type[Any] = request.__class__
        if kind not in self._connections:
            self._connections[kind] = self._connect()
        try:
            return await self._connections[kind].request(request, version, timeout_ms=_TIMEOUT_MS)
        except (ConnectionError, TimeoutError) as error:
            raise KafkaError(ErrorCode.NOT_CONTROLLER, str(error)) from error

    def close(self) -> None:
        """Drop all connections."""
        for connection in self._connections.values():
            connection.close()
