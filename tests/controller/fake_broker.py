"""A broker that speaks the real protocol over real sockets and keeps only what it was told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from protocol.apis import APIS
from protocol.connection import Peer, RequestReceived
from protocol.messages.lifecycle import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Listener,
)
from protocol.ports import Buffer
from protocol.transport.rpc_client import RpcClient
from protocol.transport.rpc_server import RpcServer
from protocol.wire.fast import codec
from tests.controller.core.broker_model import BrokerModel
from tests.controller.core.cluster import log_dir
from tests.deadlines import DEADLINE_S


class FakeBroker:
    """``start`` it, ``register`` it, ``stop`` it."""

    def __init__(self, broker_id: int, cluster_id: str, controller_port: int) -> None:
        self.broker_id = broker_id
        self.model = BrokerModel()
        self.received: list[Any] = []
        self.broker_epoch = -1
        self._cluster_id = cluster_id
        self._server: RpcServer
        self.controller = RpcClient(host="127.0.0.1", port=controller_port, client_id="fake")
        self._incarnation = bytes([broker_id]) * 16
        self._news = asyncio.Condition()
        self.port = 0

    async def start(self, port: int = 0) -> None:
        self._server = RpcServer(self._dispatch)
        self.port = await self._server.start("127.0.0.1", port)

    async def register(self) -> BrokerRegistrationResponse:
        response: BrokerRegistrationResponse = await self.controller.request(
            BrokerRegistrationRequest(
                broker_id=self.broker_id,
                cluster_id=self._cluster_id,
                incarnation_id=self._incarnation,
                listeners=[
                    Listener(
                        name="PLAINTEXT", host="127.0.0.1", port=self.port, security_protocol=0
                    )
                ],
                rack=None,
                log_dirs=[log_dir(self.broker_id, 1), log_dir(self.broker_id, 2)],
            ),
            4,
        )
        self.broker_epoch = response.broker_epoch
        return response

    async def beat(self, *, offline: Sequence[int] = ()) -> BrokerHeartbeatResponse:
        response: BrokerHeartbeatResponse = await self.controller.request(
            BrokerHeartbeatRequest(
                broker_id=self.broker_id,
                broker_epoch=self.broker_epoch,
                offline_log_dirs=[log_dir(self.broker_id, number) for number in offline],
            ),
            1,
        )
        return response

    async def stop(self) -> None:
        self.controller.close()
        await self.stop_listening()

    async def stop_listening(self) -> None:
        await self._server.stop()

    async def until(self, kind: type[Any], count: int = 1) -> list[Any]:
        """Wait for ``count`` requests of a class and return all of that class."""
        async with asyncio.timeout(DEADLINE_S), self._news:
            await self._news.wait_for(lambda: len(self._of(kind)) >= count)
        return self._of(kind)

    def _of(self, kind: type[Any]) -> list[Any]:
        return [request for request in self.received if isinstance(request, kind)]

    async def _dispatch(self, received: RequestReceived, peer: Peer) -> Sequence[Buffer] | None:
        api = APIS[received.api_key]
        request = codec(api.request, received.api_version).decode(bytes(received.body))
        async with self._news:
            self.received.append(request)
            self._news.notify_all()
        response = self.model.answer(request)
        return codec(api.response, received.api_version).encode_parts(response)
