from __future__ import annotations

from typing import Any

from simulation.world.watched_rpc import WatchedRpc


class Rpc:
    """Answers with what it was asked."""

    def __init__(self) -> None:
        self.is_closed = False

    async def request(self, message: Any, version: int, *, timeout_ms: int | None = None) -> Any:
        return message, version, timeout_ms

    def close(self) -> None:
        self.is_closed = True


async def test_a_request_is_looked_at_and_goes_on_as_it_was() -> None:
    seen: list[Any] = []
    rpc = Rpc()
    watched = WatchedRpc(rpc, seen.append)
    assert await watched.request("hello", 3, timeout_ms=5) == ("hello", 3, 5)
    assert seen == ["hello"]
    watched.close()
    assert rpc.is_closed
