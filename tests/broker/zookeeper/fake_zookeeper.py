"""A ``ZookeeperPort`` in memory, whose sessions end when a test says so."""

from __future__ import annotations

from collections.abc import Callable

from protocol.cluster_file.spec import ZookeeperSpec


class FakeZookeeper:
    """One client and the only server."""

    def __init__(self) -> None:
        self.on_connected: Callable[[], None] = lambda: None
        self.session: int | None = None
        self.znodes: dict[str, bytes] = {}
        self.owners: dict[str, int] = {}
        """Sessions of ephemeral znodes."""
        self._watches: dict[str, list[Callable[[], None]]] = {}
        self._zxid = 100
        self._sessions_count = 0

    def made_for(self, _spec: ZookeeperSpec) -> FakeZookeeper:
        """Return it, whatever the cluster file says."""
        return self

    def start(self) -> None:
        """Connect at once."""
        self.connect()

    def connect(self, *, is_expired: bool = True) -> None:
        """Come (back), in a session of its own when the last one is over."""
        if is_expired:
            self.expire()
            self._sessions_count += 1
        self.session = self._sessions_count
        self._watches.clear()
        self.on_connected()

    def lose(self) -> None:
        """Lose the connection; the session goes on."""
        self.session = None

    def expire(self) -> None:
        """End the last session with what it owns."""
        for path in [p for p, owner in self.owners.items() if owner == self._sessions_count]:
            del self.owners[path], self.znodes[path]
        self.session = None

    async def get(self, path: str) -> bytes | None:
        """As the port says."""
        self._check()
        return self.znodes.get(path)

    async def children(self, path: str, watch: Callable[[], None]) -> list[str]:
        """As the port says."""
        self._check()
        self._watches.setdefault(path, []).append(watch)
        return self.names(path)

    def names(self, path: str) -> list[str]:
        """Return the names below a path, for tests too."""
        below = [each.removeprefix(f"{path}/") for each in self.znodes if each.startswith(path)]
        return sorted(name for name in below if "/" not in name)

    async def ensure(self, path: str, data: bytes = b"") -> None:
        """As the port says."""
        self._check()
        self.znodes.setdefault(path, data)

    async def replace_ephemeral(self, path: str, data: bytes) -> int:
        """As the port says."""
        self._check()
        assert self.session is not None
        if path in self.znodes and self.owners.get(path) != self.session:
            raise FileExistsError(path)
        self._zxid += 1
        self.znodes[path] = data
        self.owners[path] = self.session
        return self._zxid

    async def create_sequential(self, prefix: str, data: bytes) -> None:
        """As the port says."""
        self._check()
        self.put_sequential(prefix, data)

    def put_sequential(self, prefix: str, data: bytes) -> None:
        """Do what another client does."""
        folder = prefix.rpartition("/")[0]
        number = sum(path.startswith(prefix) for path in self.znodes)
        self.znodes[f"{prefix}{number:010}"] = data
        for watch in self._watches.pop(folder, []):
            watch()

    async def delete(self, path: str) -> None:
        """As the port says."""
        self._check()
        self.znodes.pop(path, None)
        self.owners.pop(path, None)

    def close(self) -> None:
        """As the port says."""
        self.expire()

    def _check(self) -> None:
        if self.session is None:
            raise ConnectionError("no connection to ZooKeeper")
