"""The door to ZooKeeper. No code: kazoo is behind it, or a fake in tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from protocol.zookeeper.operations import Operation


class NotCommittedError(Exception):
    """Nothing of a transaction happened: one of its operations met what it does not allow."""


class NotPermittedError(Exception):
    """ZooKeeper does not let this client do it, as who it has logged in."""

    def __init__(self, path: str) -> None:
        text = "set zookeeper.username and password to those of the other brokers"
        text = f"{text}, or zookeeper.ssl.keystore.location to a certificate that it asks for"
        super().__init__(f"ZooKeeper refuses {path} to this user: {text}")


class NoZookeeperError(Exception):
    """There was no connection to ZooKeeper in time."""

    def __init__(self, connect: str, timeout_ms: int, trouble: str, *, logs_in: bool) -> None:
        """``trouble`` is the port's, ``logs_in`` whether a user and a password are set."""
        keys = "zookeeper.connect, username and password" if logs_in else "zookeeper.connect"
        why = f" ({trouble})" if trouble else ""
        super().__init__(f"no ZooKeeper at {connect} within {timeout_ms} ms: see {keys}{why}")


class Found(NamedTuple):
    """A znode as it is."""

    data: bytes
    version: int
    """How often its body was replaced."""
    czxid: int
    """Names its creation; grows with every change in ZooKeeper."""
    owner: int
    """The session that an ephemeral znode goes with; 0 for any other."""


class ZookeeperPort(Protocol):
    """One client of ZooKeeper, which connects again by itself. Used on the loop only.

    Every method that is awaited raises ConnectionError while there is no connection, and
    NotPermittedError where ZooKeeper does not let this client do it.
    """

    on_connected: Callable[[], None]
    """Called on the loop after every connection: watches are gone and what was seen is old."""

    @property
    def session(self) -> int | None:
        """The number of the session, another one after an expiry; None while not connected."""
        ...

    @property
    def trouble(self) -> str:
        """Why the last attempt to connect failed, in one line; "" where none has."""
        ...

    def start(self) -> None:
        """Begin to connect, and go on until ``close``."""
        ...

    async def get(self, path: str) -> bytes | None:
        """Return the body of a znode, None where there is none."""
        ...

    async def find(self, path: str, watch: Callable[[], None] | None = None) -> Found | None:
        """Return a znode, None where there is none; ``watch`` is called at its next change."""
        ...

    async def children(self, path: str, watch: Callable[[], None] | None = None) -> list[str]:
        """Return the names below ``path``, none where there is no such znode.

        ``watch`` is called on the loop at the next change, unless there is none.
        """
        ...

    async def ensure(self, path: str, data: bytes | None = None) -> None:
        """Make a persistent znode and its parents, unless it is there.

        One without ``data`` has no body at all: Apache Kafka reads an empty one as a broken one.
        """
        ...

    async def replace_ephemeral(self, path: str, data: bytes) -> int:
        """Make an ephemeral znode, anew where this session has one; return its czxid.

        Raises:
            FileExistsError: it is another session's.
        """
        ...

    async def create_sequential(self, prefix: str, data: bytes) -> None:
        """Make a persistent znode whose name ZooKeeper ends with a number."""
        ...

    async def commit(self, operations: Sequence[Operation]) -> None:
        """Do all of it in one transaction.

        Raises:
            NotCommittedError: nothing of it happened.
            ConnectionError: it may have happened, or not.
        """
        ...

    async def delete(self, path: str) -> None:
        """Remove a znode, if it is there."""
        ...

    def close(self) -> None:
        """End the session: its ephemeral znodes go."""
        ...
