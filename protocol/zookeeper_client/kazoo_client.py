"""ZooKeeper by kazoo, whose threads never wait for the loop, nor the loop for them."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, assert_never

from kazoo.client import (  # pyright: ignore[reportMissingTypeStubs] - it has none
    KazooClient,
    KazooState,
)
from kazoo.exceptions import (  # pyright: ignore[reportMissingTypeStubs]
    ConnectionClosedError,
    ConnectionLoss,
    InvalidACLError,
    KazooException,
    NoAuthError,
    NodeExistsError,
    NoNodeError,
    RolledBackError,
    RuntimeInconsistency,
    SessionExpiredError,
)
from kazoo.handlers.threading import (  # pyright: ignore[reportMissingTypeStubs]
    KazooTimeoutError,
)
from kazoo.security import (  # pyright: ignore[reportMissingTypeStubs]
    CREATOR_ALL_ACL,
    OPEN_ACL_UNSAFE,
    READ_ACL_UNSAFE,
)

from protocol.zookeeper.access import Access, access_to
from protocol.zookeeper.operations import Check, Create, Delete, Operation, Set
from protocol.zookeeper.paths import split_connect
from protocol.zookeeper_client.port import Found, NotCommittedError, NotPermittedError
from protocol.zookeeper_client.tls_handler import TlsHandler

_LOST: Final = (ConnectionLoss, SessionExpiredError, ConnectionClosedError, KazooTimeoutError)
_ACLS: Final[dict[Access, Any]] = {
    Access.OPEN: OPEN_ACL_UNSAFE,
    Access.READABLE: [*CREATOR_ALL_ACL, *READ_ACL_UNSAFE],
    Access.SECRET: CREATOR_ALL_ACL,
}
_NOT_PERMITTED: Final = (NoAuthError, InvalidACLError)
"""The second: whoever is to own a znode has not logged in at all."""
_OF_OTHERS: Final = (RolledBackError, RuntimeInconsistency)
"""What the other operations of a transaction end with when one is refused."""
logger = logging.getLogger(__name__)


class KazooZookeeper:
    """A ``ZookeeperPort``; make it on the loop that uses it, then ``start`` it."""

    def __init__(
        self,
        connect: str,
        *,
        session_timeout_ms: int,
        sets_acl: bool = False,
        login: tuple[str | None, str | None] = (None, None),
        tls: Callable[[], ssl.SSLContext] | None = None,
    ) -> None:
        """Make it on the loop that uses it.

        Args:
            connect: Kafka's ``zookeeper.connect``: hosts by comma, then the chroot.
            session_timeout_ms: after which ZooKeeper gives a silent client up.
            sets_acl: Kafka's ``zookeeper.set.acl``, for what is made here.
            login: user and password for SASL with DIGEST-MD5; two None: no login.
            tls: makes what each connection shakes hands by; None: no TLS.
        """
        self.on_connected: Callable[[], None] = lambda: None
        self._loop = asyncio.get_running_loop()
        self._session: int | None = None
        hosts, self._chroot = split_connect(connect)
        retry = {"max_tries": -1, "delay": 0.1, "max_delay": 2.0}
        self._sets_acl = sets_acl
        self._told = _ToldTrouble(logging.getLogger("kazoo.client"))
        self._client: Any = KazooClient(
            hosts,
            timeout=session_timeout_ms / 1000,
            connection_retry=retry,
            sasl_options=_sasl_options(*login),
            logger=self._told,
            handler=None if tls is None else TlsHandler(tls),
            use_ssl=tls is not None,
        )
        self._client.add_listener(self._on_state)

    @property
    def session(self) -> int | None:
        """As the port says."""
        return self._session

    @property
    def trouble(self) -> str:
        """As the port says."""
        return self._told.trouble

    def start(self) -> None:
        """As the port says."""
        self._client.start_async()

    async def get(self, path: str) -> bytes | None:
        """As the port says."""
        try:
            data, _ = await self._done(self._client.get_async, self._below(path))
        except NoNodeError:
            return None
        return data

    async def find(self, path: str, watch: Callable[[], None] | None = None) -> Found | None:
        """As the port says."""
        if watch is not None:  # Only a question for its existence watches what is not there.
            on_event, place = self._on_event(watch), self._below(path)
            if await self._done(self._client.exists_async, place, watch=on_event) is None:
                return None
        try:
            data, stat = await self._done(self._client.get_async, self._below(path))
        except NoNodeError:
            return None
        return Found(data, stat.version, stat.czxid, stat.ephemeralOwner or 0)

    async def children(self, path: str, watch: Callable[[], None] | None = None) -> list[str]:
        """As the port says."""
        try:
            return await self._done(
                self._client.get_children_async, self._below(path), watch=self._on_event(watch)
            )
        except NoNodeError:
            return []

    async def ensure(self, path: str, data: bytes | None = None) -> None:
        """As the port says."""
        with suppress(NodeExistsError):
            await self._make(self._below(path), data)

    async def replace_ephemeral(self, path: str, data: bytes) -> int:
        """As the port says."""
        before = await self.find(path)
        if before is not None and before.owner != self._session:
            raise FileExistsError(path)
        create = Create(path, data, is_ephemeral=True)
        try:
            # In one: nobody is to see the broker gone.
            await self.commit([create] if before is None else [Delete(path), create])
        except NotCommittedError:
            raise FileExistsError(path) from None
        made = await self.find(path)
        if made is None or made.owner != self._session:
            raise ConnectionError("the session is over")
        return made.czxid

    async def create_sequential(self, prefix: str, data: bytes) -> None:
        """As the port says."""
        place, acl = self._below(prefix), self._acl(prefix)
        await self._done(self._client.create_async, place, data, acl=acl, sequence=True)

    async def commit(self, operations: Sequence[Operation]) -> None:
        """As the port says."""
        transaction = self._client.transaction()
        for each in operations:
            _add(transaction, each, self._below(each.path), self._acl(each.path))
        results = await self._done(transaction.commit_async)
        check_committed([self._below(each.path) for each in operations], results)

    async def delete(self, path: str) -> None:
        """As the port says."""
        with suppress(NoNodeError):
            await self._done(self._client.delete_async, self._below(path))

    def close(self) -> None:
        """As the port says; waits for the goodbye a moment."""
        self._client.stop()
        self._client.close()

    def _below(self, path: str) -> str:
        """Return where ZooKeeper has what the chroot has at ``path``."""
        return f"{self._chroot}{path}"

    async def _make(self, place: str, data: bytes | None) -> None:
        """Make a znode and what is above it, each with its own ACL, the chroot too."""
        acl = self._acl(place.removeprefix(self._chroot) or place)
        try:
            await self._done(self._client.create_async, place, data, acl=acl)
        except NoNodeError:
            with suppress(NodeExistsError):
                await self._make(place.rpartition("/")[0], None)
            await self._done(self._client.create_async, place, data, acl=acl)

    def _acl(self, path: str) -> Any:
        return _ACLS[access_to(path, sets_acl=self._sets_acl)]

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
        except _NOT_PERMITTED as error:
            raise NotPermittedError(str(arguments[0])) from error

    def _on_state(self, state: str) -> None:
        """Called by kazoo's threads."""
        session = self._client.client_id[0] if state == KazooState.CONNECTED else None
        self._on_loop(lambda: self._take_state(state, session))

    def _take_state(self, state: str, session: int | None) -> None:
        logger.info("ZooKeeper: %s", state)
        self._session = session
        if session is not None:
            self.on_connected()

    def _on_event(self, watch: Callable[[], None] | None) -> Callable[[Any], None] | None:
        return None if watch is None else lambda _event: self._on_loop(watch)

    def _on_loop(self, call: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # The loop may be closed by now.
            self._loop.call_soon_threadsafe(call)


class _ToldTrouble(logging.LoggerAdapter[logging.Logger]):
    """Passes on what kazoo logs, and remembers its last warning: it tells troubles nowhere else."""

    trouble = ""

    # Any: what loggers take.
    def log(self, level: int, msg: object, *args: Any, **kwargs: Any) -> None:
        """Take one line; called by kazoo's threads."""
        if level >= logging.WARNING:
            self.trouble = str(msg) % args if args else str(msg)
        super().log(level, msg, *args, **kwargs)


def check_committed(places: Sequence[str], results: Sequence[object]) -> None:
    """Check what the operations of a transaction, on the znodes at ``places``, ended with.

    Raises:
        NotPermittedError: one is not this user's to do.
        NotCommittedError: one met what it does not allow.
    """
    for place, result in zip(places, results, strict=True):
        if isinstance(result, _NOT_PERMITTED):
            raise NotPermittedError(place)
        if isinstance(result, KazooException) and not isinstance(result, _OF_OTHERS):
            raise NotCommittedError(f"{type(result).__name__} at {place}")


def _sasl_options(username: str | None, password: str | None) -> dict[str, str] | None:
    if username is None or password is None:
        return None
    return {
        "mechanism": "DIGEST-MD5",
        "service": "zookeeper",
        "username": username,
        "password": password,
    }


def _add(transaction: Any, operation: Operation, path: str, acl: Any) -> None:
    match operation:
        case Check(version=version):
            transaction.check(path, version)
        case Create(_, data, is_ephemeral, is_sequential):
            transaction.create(path, data, acl, is_ephemeral, is_sequential)
        case Set(_, data, version):
            transaction.set_data(path, data, version)
        case Delete(version=version):
            transaction.delete(path, version)
        case _:
            assert_never(operation)
