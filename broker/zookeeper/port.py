"""The door to ZooKeeper, as a broker needs it. No code: kazoo is behind it, or a fake in tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class ZookeeperPort(Protocol):
    """One client of ZooKeeper, which connects again by itself. Used on the loop only.

    Every method that is awaited raises ConnectionError while there is no connection.
    """

    on_connected: Callable[[], None]
    """Called on the loop after every connection: watches are gone and what was seen is old."""

    @property
    def session(self) -> int | None:
        """The number of the session, another one after an expiry; None while not connected."""
        ...

    def start(self) -> None:
        """Begin to connect, and go on until ``close``."""
        ...

    async def get(self, path: str) -> bytes | None:
        """Return the body of a znode, None where there is none."""
        ...

    async def children(self, path: str, watch: Callable[[], None]) -> list[str]:
        """Return the names below ``path``; ``watch`` is called on the loop at the next change."""
        ...

    async def ensure(self, path: str, data: bytes = b"") -> None:
        """Make a persistent znode and its parents, unless it is there."""
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

    async def delete(self, path: str) -> None:
        """Remove a znode, if it is there."""
        ...

    def close(self) -> None:
        """End the session: its ephemeral znodes go."""
        ...
