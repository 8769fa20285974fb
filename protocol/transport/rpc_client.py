"""Asks one node of the cluster: connects on first use, pipelines, pairs answers with requests.

It does not retry and does not wait between attempts to connect: who asks knows when that is right.
It needs nothing of the loop but ``create_connection`` and timers.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any, Protocol, cast

from protocol.apis import APIS, Api
from protocol.connection import ClientConnection, ResponseReceived
from protocol.errors import Malformed
from protocol.ports import Buffer
from protocol.wire.fast import codec
from protocol.wire.table import META


class Way(Protocol):
    """What lies between this process and the node that it asks: perhaps a broken network."""

    @property
    def is_troubled(self) -> bool:
        """Whether ``send`` and ``receive`` have anything to do."""
        ...

    def number_connection(self) -> int:
        """Return the number of a connection that is made now."""
        ...

    async def connect(self) -> None:
        """Wait until a connection can be made."""
        ...

    async def send(self, number: int) -> None:
        """Wait before a request leaves by a connection; may raise ConnectionError."""
        ...

    async def receive(self, number: int) -> None:
        """Wait before an answer is taken from a connection; may raise ConnectionError."""
        ...


class RpcClient:
    """One connection to ``host``:``port``, made again on the next request after it was lost."""

    def __init__(
        self, *, host: str, port: int, client_id: str | None, way: Way | None = None
    ) -> None:
        """Connect to nobody yet; ``way`` may hold requests and answers back."""
        self.host = host
        self.port = port
        self._client_id = client_id
        self._way = way
        self._link: _Link | None = None
        self._connecting = asyncio.Lock()
        self._is_closed = False

    @property
    def is_connected(self) -> bool:
        """Whether the next request finds an open connection."""
        return self._link is not None and not self._link.is_closed

    # Any: which class answers which is in the API table, beyond what a type can say.
    async def request(self, message: Any, version: int, *, timeout_ms: int | None = None) -> Any:
        """Send ``message`` and return the decoded response.

        Raises:
            ConnectionError: no connection, or it was lost before the answer came.
            TimeoutError: no answer in ``timeout_ms``; the connection is closed, as in Kafka.
            Malformed: the answer cannot be decoded.
        """
        api = _api_of(message)
        body = codec(api.request, version).encode_parts(message)
        answer = await self.request_raw(api.key, version, body, timeout_ms=timeout_ms)
        return codec(api.response, version).decode(answer)

    async def request_raw(
        self,
        api_key: int,
        api_version: int,
        body: Sequence[Buffer],
        *,
        timeout_ms: int | None = None,
    ) -> memoryview:
        """Send an encoded request body and return the encoded response body.

        Raises:
            ConnectionError: as ``request``.
            TimeoutError: as ``request``.
        """
        link: _Link | None = None
        try:
            async with asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000):
                link = await self._connected()
                if self._way is None:
                    return await (await link.begin(api_key, api_version, body))
                return await _request_by(self._way, link, api_key, api_version, body)
        except TimeoutError:
            if link is not None:
                link.abort(f"{self._name} did not answer in {timeout_ms} ms")
            raise TimeoutError(f"{self._name} did not answer in {timeout_ms} ms") from None

    async def begin(self, message: Any, version: int) -> asyncio.Future[memoryview]:
        """Send ``message`` and return the future that gets the encoded response body.

        Who awaits this before sending the next request has them arrive in that order. There is no
        end to its patience: the caller ``drop``s the connection when its own ends. The answer
        never waits for a ``way``.

        Raises:
            ConnectionError: no connection; the future's error when it is lost later.
        """
        api = _api_of(message)
        link = await self._connected()
        if self._way is not None and self._way.is_troubled:
            await self._way.send(link.number)
        body = codec(api.request, version).encode_parts(message)
        return await link.begin(api.key, version, body)

    async def notify(self, message: Any, version: int) -> None:
        """Send ``message``, to which no answer comes (Produce with acks=0).

        Raises:
            ConnectionError: no connection.
        """
        api = _api_of(message)
        link = await self._connected()
        if self._way is not None and self._way.is_troubled:
            await self._way.send(link.number)
        await link.notify(api.key, version, codec(api.request, version).encode_parts(message))

    def drop(self, reason: str) -> None:
        """Lose the connection, if there is one; waiting requests end with ConnectionError."""
        if self._link is not None:
            self._link.abort(reason)

    def close(self) -> None:
        """Close the connection for good; waiting requests end with ConnectionError."""
        self._is_closed = True
        self.drop(f"connection to {self._name} closed")

    @property
    def _name(self) -> str:
        return f"{self.host}:{self.port}"

    async def _connected(self) -> _Link:
        if self._link is not None and not self._link.is_closed:
            return self._link
        async with self._connecting:
            if self._is_closed:
                raise ConnectionError(f"client of {self._name} is closed")
            if self._link is None or self._link.is_closed:
                self._link = await self._connect()
            return self._link

    async def _connect(self) -> _Link:
        loop = asyncio.get_running_loop()
        if self._way is not None:
            await self._way.connect()
        number = 0 if self._way is None else self._way.number_connection()
        try:
            _, link = await loop.create_connection(
                lambda: _Link(self._name, self._client_id, number), self.host, self.port
            )
        except ConnectionError:
            raise
        except OSError as error:
            raise ConnectionError(f"cannot connect to {self._name}: {error}") from error
        return link


async def _request_by(
    way: Way, link: _Link, api_key: int, api_version: int, body: Sequence[Buffer]
) -> memoryview:
    try:
        if way.is_troubled:
            await way.send(link.number)
        answer = await (await link.begin(api_key, api_version, body))
        if way.is_troubled:
            await way.receive(link.number)
    except ConnectionError as error:
        link.abort(str(error))
        raise
    return answer


def _api_of(message: Any) -> Api:
    key = META[type(message)].api_key
    assert key is not None
    return APIS[key]


class _Link(asyncio.BufferedProtocol):
    """One connection while it lasts."""

    def __init__(self, name: str, client_id: str | None, number: int) -> None:
        self._name = name
        self.number = number
        self._connection = ClientConnection(client_id)
        self._waiting: deque[asyncio.Future[memoryview]] = deque()
        self._transport: asyncio.Transport
        self._writable: asyncio.Future[None] | None = None
        self._reason = ""
        self.is_closed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A cast, as not every loop's transport derives from asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._connection.next_buffer()

    def buffer_updated(self, nbytes: int) -> None:
        try:
            responses = self._connection.received(nbytes)
        except Malformed as error:
            self.abort(f"{self._name} sent no response: {error}")
            return
        for response in responses:
            self._answer(response)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_closed = True
        reason = self._reason or f"connection to {self._name} lost"
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_exception(ConnectionResetError(reason))
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)

    def pause_writing(self) -> None:
        self._writable = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    async def begin(
        self, api_key: int, api_version: int, body: Sequence[Buffer]
    ) -> asyncio.Future[memoryview]:
        """Send a request; its future gets the body of the response."""
        await self._until_writable()
        self._transport.writelines(self._connection.send_request(api_key, api_version, body))
        waiting: asyncio.Future[memoryview] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        return waiting

    async def notify(self, api_key: int, api_version: int, body: Sequence[Buffer]) -> None:
        """Send a request that has no response."""
        await self._until_writable()
        self._transport.writelines(
            self._connection.send_request(api_key, api_version, body, expects_response=False)
        )

    def abort(self, reason: str) -> None:
        """Drop the connection; waiting requests end with ConnectionError(``reason``)."""
        self._reason = reason
        self.is_closed = True
        self._transport.abort()

    async def _until_writable(self) -> None:
        # A loop, as others that waited too may have filled the buffer again.
        while self._writable is not None and not self.is_closed:
            await asyncio.shield(self._writable)
        if self.is_closed:
            raise ConnectionResetError(f"connection to {self._name} lost")

    def _answer(self, response: ResponseReceived) -> None:
        waiting = self._waiting.popleft()
        if not waiting.done():
            waiting.set_result(response.body)
