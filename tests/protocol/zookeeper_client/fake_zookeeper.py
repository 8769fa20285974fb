"""A ``ZookeeperPort`` in memory, whose sessions end when a test says so."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from protocol.cluster_file.spec import ZookeeperSpec
from protocol.zookeeper.operations import ANY_VERSION, Check, Create, Delete, Operation, Set
from protocol.zookeeper_client.port import Found, NotCommittedError


class _Watch(NamedTuple):
    client: FakeZookeeper
    call: Callable[[], None]


@dataclass
class FakeServer:
    """What all clients see."""

    znodes: dict[str, bytes] = field(default_factory=dict[str, bytes])
    owners: dict[str, int] = field(default_factory=dict[str, int])
    """Sessions of ephemeral znodes."""
    versions: dict[str, int] = field(default_factory=dict[str, int])
    czxids: dict[str, int] = field(default_factory=dict[str, int])
    transactions: list[Sequence[Operation]] = field(default_factory=list[Sequence[Operation]])
    watches: dict[str, list[_Watch]] = field(default_factory=dict[str, list[_Watch]])
    """By path; of children with a slash at the end."""
    without_body: list[str] = field(default_factory=list[str])
    """Those made so; their body reads as empty here."""
    zxid: int = 100
    sessions_count: int = 0

    def put(self, path: str, data: bytes, owner: int = 0) -> None:
        """Make a znode, or replace its body."""
        if path in self.znodes:
            self.versions[path] = self.versions.get(path, 0) + 1
        else:
            self.zxid += bool(owner)  # Registrations are counted, so that tests know their epochs.
            self.czxids[path] = self.zxid
            self._changed(f"{path.rpartition('/')[0]}/")
        self.znodes[path] = data
        if owner:
            self.owners[path] = owner
        self._changed(path)

    def remove(self, path: str) -> None:
        """Remove a znode, if it is there."""
        for kept in (self.znodes, self.owners, self.versions, self.czxids):
            kept.pop(path, None)
        self._changed(path)
        self._changed(f"{path.rpartition('/')[0]}/")

    def names(self, path: str) -> list[str]:
        """Return the names below a path."""
        below = [
            each.removeprefix(f"{path}/") for each in self.znodes if each.startswith(f"{path}/")
        ]
        return sorted({name.partition("/")[0] for name in below})

    def do_all(self, operations: Sequence[Operation], session: int) -> None:
        """Do a transaction, or nothing of it."""
        znodes, owners = dict(self.znodes), dict(self.owners)
        versions, czxids = dict(self.versions), dict(self.czxids)
        for each in operations:
            if not self._do(each, session):
                self.znodes, self.owners = znodes, owners
                self.versions, self.czxids = versions, czxids
                raise NotCommittedError(str(each))
        self.transactions.append(operations)

    def _do(self, operation: Operation, session: int) -> bool:
        path = operation.path
        match operation:
            case Check(version=version):
                return self._is_at(path, version)
            case Create(data=data, is_ephemeral=is_ephemeral, is_sequential=is_sequential):
                if is_sequential:
                    path = f"{path}{sum(each.startswith(path) for each in self.znodes):010}"
                elif path in self.znodes:
                    return False
                self.put(path, data, session if is_ephemeral else 0)
            case Set(data=data, version=version):
                if not self._is_at(path, version):
                    return False
                self.put(path, data)
            case Delete(version=version):
                if not self._is_at(path, version) or self.names(path):
                    return False
                self.remove(path)
        return True

    def _is_at(self, path: str, version: int) -> bool:
        return path in self.znodes and version in (ANY_VERSION, self.versions.get(path, 0))

    def _changed(self, path: str) -> None:
        for watch in self.watches.pop(path, []):
            watch.call()


class FakeZookeeper:
    """One client."""

    def __init__(self, server: FakeServer | None = None) -> None:
        self.server = server or FakeServer()
        self.on_connected: Callable[[], None] = lambda: None
        self.session: int | None = None
        self._last_session = 0
        self.trouble = ""
        self.tls: Callable[[], ssl.SSLContext] | None = None

    @property
    def znodes(self) -> dict[str, bytes]:
        return self.server.znodes

    @property
    def owners(self) -> dict[str, int]:
        return self.server.owners

    def made_for(
        self, _spec: ZookeeperSpec, tls: Callable[[], ssl.SSLContext] | None
    ) -> FakeZookeeper:
        """Return it, whatever the cluster file says; remember how TLS is spoken."""
        self.tls = tls
        return self

    def start(self) -> None:
        """Connect at once."""
        self.connect()

    def connect(self, *, is_expired: bool = True) -> None:
        """Come (back), in a session of its own when the last one is over."""
        if is_expired:
            self.expire()
            self.server.sessions_count += 1
            self._last_session = self.server.sessions_count
        self.session = self._last_session
        self.on_connected()

    def lose(self) -> None:
        """Lose the connection with its watches; the session goes on."""
        self.session = None
        for path, watches in self.server.watches.items():
            self.server.watches[path] = [each for each in watches if each.client is not self]

    def expire(self) -> None:
        """End the last session with what it owns."""
        self.lose()
        for path in [p for p, owner in self.owners.items() if owner == self._last_session]:
            self.server.remove(path)

    async def get(self, path: str) -> bytes | None:
        """As the port says."""
        self._check()
        return self.znodes.get(path)

    async def find(self, path: str, watch: Callable[[], None] | None = None) -> Found | None:
        """As the port says."""
        self._check()
        self._watch(path, watch)
        if path not in self.znodes:
            return None
        server = self.server
        version, czxid = server.versions.get(path, 0), server.czxids.get(path, 1)
        return Found(self.znodes[path], version, czxid, self.owners.get(path, 0))

    async def children(self, path: str, watch: Callable[[], None] | None = None) -> list[str]:
        """As the port says."""
        self._check()
        self._watch(f"{path}/", watch)
        return self.names(path)

    def names(self, path: str) -> list[str]:
        """Return the names below a path, for tests too."""
        return self.server.names(path)

    async def ensure(self, path: str, data: bytes | None = None) -> None:
        """As the port says."""
        self._check()
        if path not in self.znodes:
            self.server.put(path, data or b"")
            if data is None:
                self.server.without_body.append(path)

    async def replace_ephemeral(self, path: str, data: bytes) -> int:
        """As the port says."""
        session = self._check()
        if path in self.znodes and self.owners.get(path) != session:
            raise FileExistsError(path)
        self.server.remove(path)
        self.server.put(path, data, session)
        return self.server.czxids[path]

    async def create_sequential(self, prefix: str, data: bytes) -> None:
        """As the port says."""
        self._check()
        self.put_sequential(prefix, data)

    def put_sequential(self, prefix: str, data: bytes) -> None:
        """Do what another client does."""
        self.server.do_all([Create(prefix, data, is_sequential=True)], 0)

    async def commit(self, operations: Sequence[Operation]) -> None:
        """As the port says."""
        self.server.do_all(operations, self._check())

    async def delete(self, path: str) -> None:
        """As the port says."""
        self._check()
        self.server.remove(path)

    def close(self) -> None:
        """As the port says."""
        self.expire()

    def _watch(self, path: str, call: Callable[[], None] | None) -> None:
        if call is not None:
            self.server.watches.setdefault(path, []).append(_Watch(self, call))

    def _check(self) -> int:
        if self.session is None:
            raise ConnectionError("no connection to ZooKeeper")
        return self.session
