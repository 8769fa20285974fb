"""ZooKeeper by kazoo, whose threads never wait for the loop, nor the loop for them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from kazoo.client import (  # pyright: ignore[reportMissingTypeStubs] - it has none
    KazooClient,
    KazooState,
)
from kazoo.exceptions import (  # pyright: ignore[reportMissingTypeStubs]
    ConnectionClosedError,
    ConnectionLoss,
    NodeExistsError,
    NoNodeError,
    SessionExpiredError,
)
from kazoo.handlers.threading import (  # pyright: ignore[reportMissingTypeStubs]
    KazooTimeoutError,
)

_LOST: Final = (ConnectionLoss, SessionExpiredError, ConnectionClosedError, KazooTimeoutError)
logger = logging.getLogger(__name__)


class KazooZookeeper:
    """A ``ZookeeperPort``; make it on the loop that uses it, then ``start`` it."""

    def __init__(self, connect: str, *, session_timeout_ms: int) -> None:
        """``connect`` is Kafka's ``zookeeper.connect``: hosts by comma, then the chroot."""
        self.on_connected: Callable[[], None] = lambda: None
        self._loop = asyncio.get_running_loop()
        self._session: int | None = None
        retry = {"max_tries": -1, "delay": 0.1, "max_delay": 2.0}
        self._client: Any = KazooClient(
            connect, timeout=session_timeout_ms / 1000, connection_retry=retry
        )
        self._client.add_listener(self._on_state)

    @property
    def session(self) -> int | None:
        """As the port says."""
        return self._session

    def start(self) -> None:
        """As the port says."""
        self._client.start_async()

    async def get(self, path: str) -> bytes | None:
        """As the port says."""
        try:
            data, _ = await self._done(self._client.get_async, path)
        except NoNodeError:
            return None
        return data

    async def children(self, path: str, watch: Callable[[], None]) -> list[str]:
        """As the port says."""

        def on_event(_event: Any) -> None:
            self._on_loop(watch)

        return await self._done(self._client.get_children_async, path, watch=on_event)

    async def ensure(self, path: str, data: bytes = b"") -> None:
        """As the port says."""
        with suppress(NodeExistsError):
            await self._done(self._client.create_async, path, data, makepath=True)

    async def replace_ephemeral(self, path: str, data: bytes) -> int:
        """As the port says."""
        client = self._client
        stat = await self._done(client.exists_async, path)
        if stat is not None:
            if stat.ephemeralOwner != client.client_id[0]:
                raise FileExistsError(path)
            await self.delete(path)
        try:
            _, made = await self._done(
                client.create_async, path, data, ephemeral=True, include_data=True
            )
        except NodeExistsError:
            raise FileExistsError(path) from None
        return int(made.czxid)

    async def create_sequential(self, prefix: str, data: bytes) -> None:
        """As the port says."""
        await self._done(self._client.create_async, prefix, data, sequence=True)

    async def delete(self, path: str) -> None:
        """As the port says."""
        with suppress(NoNodeError):
            await self._done(self._client.delete_async, path)

    def close(self) -> None:
        """As the port says; waits for the goodbye a moment."""
        self._client.stop()
        self._client.close()

    async def _done(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Return what an asynchronous call of kazoo ends with."""
        if self._session is None:
            raise ConnectionError("no connection to ZooKeeper")
        done: asyncio.Future[Any] = self._loop.create_future()

        def on_done(result: Any) -> None:
            self._on_loop(lambda: done.done() or done.set_result(result))

        call(*arguments, **options).rawlink(on_done)
        result = await done
        try:
            return result.get(block=False)
        except _LOST as error:
            raise ConnectionError(f"ZooKeeper: {type(error).__name__}") from error

    def _on_state(self, state: str) -> None:
        """Called by kazoo's threads."""
        session = self._client.client_id[0] if state == KazooState.CONNECTED else None
        self._on_loop(lambda: self._take_state(state, session))

    def _take_state(self, state: str, session: int | None) -> None:
        logger.info("ZooKeeper: %s", state)
        self._session = session
        if session is not None:
            self.on_connected()

    def _on_loop(self, call: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # The loop may be closed by now.
            self._loop.call_soon_threadsafe(call)
