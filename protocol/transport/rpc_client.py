"""Asks one node of the cluster: connects on first use, pipelines, pairs answers with requests.

It does not retry and does not wait between attempts to connect: who asks knows when that is right.
It needs nothing of the loop but ``create_connection`` and timers.
"""

from __future__ import annotations

import asyncio
import functools
import math
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, Protocol, cast

from protocol.apis import APIS
from protocol.connection import ClientConnection, ResponseReceived
from protocol.errors import Malformed, MalformedAnswer
from protocol.ports import Buffer
from protocol.transport.door import HANDSHAKE_TIMEOUT_MS, NO_KEY, Authenticate, Key
from protocol.transport.flow_control import abort, wake_up, write_all
from protocol.wire.fast import codec
from protocol.wire.table import META

_NEVER_S: Final = math.inf
RENEWAL_SHARE: Final = 0.85  # Of a session's lifetime, of which Kafka's clients wait 85 to 95 %.


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
        self,
        *,
        host: str,
        port: int,
        client_id: str | None,
        way: Way | None = None,
        key: Key = NO_KEY,
    ) -> None:
        """Connect to nobody yet; ``way`` may hold requests and answers back."""
        self._key = key
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
                MalformedAnswer, when the node sent what is no answer; it is closed then.
            TimeoutError: no answer in ``timeout_ms``; the connection is closed, as in Kafka.
        """
        exchange = _exchange_of(message.__class__, version)
        body = exchange.encode_parts(message)
        answer = await self.request_raw(exchange.api_key, version, body, timeout_ms=timeout_ms)
        try:
            return exchange.decode(answer)
        except Malformed as error:
            api = APIS[exchange.api_key].name
            why = " ".join(str(error).split())
            words = f"{self._name} sent no answer to {api} v{version}: {why}"
            self.drop(words)
            raise MalformedAnswer(words) from error

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
        until_s = _NEVER_S
        if timeout_ms is not None:
            until_s = asyncio.get_running_loop().time() + timeout_ms / 1000
        link, way = self._link, self._way
        try:
            if link is None or not link.is_free or (way is not None and way.is_troubled):
                link = await self._free_link(until_s)
            answer = await link.ask(api_key, api_version, body, until_s)
            if way is not None and way.is_troubled:
                await _receive(way, link, until_s)
        except TimeoutError:
            if link is not None:
                link.abort(f"{self._name} did not answer in {timeout_ms} ms")
            raise TimeoutError(f"{self._name} did not answer in {timeout_ms} ms") from None
        return answer

    async def begin(self, message: Any, version: int) -> asyncio.Future[memoryview]:
        """Send ``message`` and return the future that gets the encoded response body.

        Who awaits this before sending the next request has them arrive in that order. There is no
        end to its patience: the caller ``drop``s the connection when its own ends. The answer
        never waits for a ``way``.

        Raises:
            ConnectionError: no connection; the future's error when it is lost later.
        """
        exchange = _exchange_of(message.__class__, version)
        link = await self._connected()
        if self._way is not None and self._way.is_troubled:
            await self._way.send(link.number)
        body = exchange.encode_parts(message)
        await link.until_free()
        return link.ask(exchange.api_key, version, body)

    async def notify(self, message: Any, version: int) -> None:
        """Send ``message``, to which no answer comes (Produce with acks=0).

        Raises:
            ConnectionError: no connection.
        """
        exchange = _exchange_of(message.__class__, version)
        link = await self._connected()
        if self._way is not None and self._way.is_troubled:
            await self._way.send(link.number)
        body = exchange.encode_parts(message)
        await link.until_free()
        link.notify(exchange.api_key, version, body)

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

    async def _free_link(self, until_s: float) -> _Link:
        """Return a connection that takes a request now; the way to its node is behind it."""
        link: _Link | None = None
        try:
            async with _until(until_s):
                link = await self._connected()
                if self._way is not None and self._way.is_troubled:
                    await self._way.send(link.number)
                await link.until_free()
        except (ConnectionError, TimeoutError) as error:
            if link is not None:
                link.abort(str(error) or f"no request reached {self._name} in its time")
            raise
        return link

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
        options = self._key.options()
        try:
            _, link = await loop.create_connection(
                lambda: _Link(self._name, self._client_id, number), self.host, self.port, **options
            )
        except ConnectionError:
            raise
        except OSError as error:
            raise ConnectionError(f"cannot connect to {self._name}: {error}") from error
        if self._key.authenticate is not None:
            await self._authenticate(link, self._key.authenticate)
        return link

    async def _authenticate(self, link: _Link, authenticate: Authenticate) -> None:
        """Authenticate before the first request, and again before the session ends (KIP-368)."""
        try:
            async with asyncio.timeout(HANDSHAKE_TIMEOUT_MS / 1000):
                lifetime_ms = await authenticate(link.ask)
        except (ConnectionError, TimeoutError) as error:
            words = str(error) or f"no answer in {HANDSHAKE_TIMEOUT_MS} ms"
            link.abort(words)
            raise ConnectionError(f"{self._name} did not authenticate us: {words}") from error
        except asyncio.CancelledError:
            link.abort("cancelled")
            raise
        if lifetime_ms:
            link.when_due(lifetime_ms, lambda: self._authenticate_again(link, authenticate))

    async def _authenticate_again(self, link: _Link, authenticate: Authenticate) -> None:
        with suppress(ConnectionError):  # Who asks by this connection is told.
            await self._authenticate(link, authenticate)


async def _receive(way: Way, link: _Link, until_s: float) -> None:
    """Have an answer come by a broken way."""
    try:
        async with _until(until_s):
            await way.receive(link.number)
    except ConnectionError as error:
        link.abort(str(error))
        raise


def _until(until_s: float) -> asyncio.Timeout:
    return asyncio.timeout_at(None if until_s == _NEVER_S else until_s)


class _Exchange(NamedTuple):
    """How one request class is sent at one version, and its response read."""

    api_key: int
    encode_parts: Callable[[Any], list[Buffer]]
    decode: Callable[[Buffer], Any]


@functools.cache
def _exchange_of(request: type[Any], version: int) -> _Exchange:
    key = META[request].api_key
    assert key is not None
    encode_parts = codec(request, version).encode_parts
    return _Exchange(key, encode_parts, codec(APIS[key].response, version).decode)


class _Link(asyncio.BufferedProtocol):
    """One connection while it lasts."""

    def __init__(self, name: str, client_id: str | None, number: int) -> None:
        self._name = name
        self.number = number
        self._connection = ClientConnection(client_id)
        self._waiting: deque[tuple[asyncio.Future[memoryview], float]] = deque()
        """The requests without an answer, and until when each waits, in loop time."""
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_s = _NEVER_S
        """No request waits for less long."""
        self._transport: asyncio.Transport
        self._loop = asyncio.get_running_loop()  # Asking for it costs a system call each time.
        self._writable: asyncio.Future[None] | None = None
        self._reason = ""
        self._error: type[ConnectionError] = ConnectionResetError
        """What waiting requests end with, and the words."""
        self.is_closed = False
        self._renewal: asyncio.TimerHandle | asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A cast, as not every loop's transport derives from asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._connection.next_buffer()

    def buffer_updated(self, nbytes: int) -> None:
        try:
            responses = self._connection.received(nbytes)
        except Malformed as error:
            self.abort(f"{self._name} sent no response: {error}", MalformedAnswer)
            return
        for response in responses:
            self._answer(response)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_closed = True
        reason = self._reason or f"connection to {self._name} lost"
        while self._waiting:
            waiting, _ = self._waiting.popleft()
            if not waiting.done():
                waiting.set_exception(self._error(reason))
        for timer in (self._alarm, self._renewal):
            if timer is not None:
                timer.cancel()
        wake_up(self._writable)

    def when_due(self, lifetime_ms: int, renew: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Have a session renewed when most of its time is over, unless the connection is."""

        def begin() -> None:
            self._renewal = self._loop.create_task(renew())

        self._renewal = self._loop.call_later(lifetime_ms * RENEWAL_SHARE / 1000, begin)

    def pause_writing(self) -> None:
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        wake_up(self._writable)
        self._writable = None

    @property
    def is_free(self) -> bool:
        """Whether a request can be sent without waiting."""
        return self._writable is None and not self.is_closed

    async def until_free(self) -> None:
        """Wait until a request can be sent; ConnectionResetError when the connection is lost."""
        # A loop, as others that waited too may have filled the buffer again.
        while self._writable is not None and not self.is_closed:
            await asyncio.shield(self._writable)
        if self.is_closed:
            raise ConnectionResetError(f"connection to {self._name} lost")

    def ask(
        self, api_key: int, api_version: int, body: Sequence[Buffer], until_s: float = _NEVER_S
    ) -> asyncio.Future[memoryview]:
        """Send a request; its future gets the body of the response, or a TimeoutError then."""
        write_all(self._transport, self._connection.send_request(api_key, api_version, body))
        waiting: asyncio.Future[memoryview] = self._loop.create_future()
        self._waiting.append((waiting, until_s))
        if until_s < self._alarm_s:
            self._set_alarm(until_s)
        return waiting

    def notify(self, api_key: int, api_version: int, body: Sequence[Buffer]) -> None:
        """Send a request that has no response."""
        write_all(
            self._transport,
            self._connection.send_request(api_key, api_version, body, expects_response=False),
        )

    def abort(self, reason: str, error: type[ConnectionError] = ConnectionResetError) -> None:
        """Drop the connection; waiting requests end with ``error(reason)``."""
        self._reason, self._error = reason, error
        self.is_closed = True
        abort(self._transport)

    def _set_alarm(self, at_s: float) -> None:
        """Have one timer for all requests: answers come, and it seldom has anything to do."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_s = at_s
        self._alarm = self._loop.call_at(at_s, self._ring)

    def _ring(self) -> None:
        """End the requests whose time is up."""
        now_s, self._alarm, self._alarm_s = self._alarm_s, None, _NEVER_S
        next_s = _NEVER_S
        for waiting, until_s in self._waiting:
            if waiting.done():
                continue
            if until_s <= now_s:
                waiting.set_exception(TimeoutError())
            else:
                next_s = min(next_s, until_s)
        if next_s < _NEVER_S:
            self._set_alarm(next_s)

    def _answer(self, response: ResponseReceived) -> None:
        waiting, _ = self._waiting.popleft()
        if not waiting.done():
            waiting.set_result(response.body)
