"""A connection of a simulated process to another node, whose requests are looked at as they go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from protocol.ports import RpcPort


class WatchedRpc:
    """Implements ``RpcPort``; changes nothing."""

    def __init__(self, rpc: RpcPort, on_request: Callable[[Any], None]) -> None:
        """``on_request`` is given each request before it is sent, again when it is sent again."""
        self._rpc = rpc
        self._on_request = on_request

    # Any: as ``RpcPort.request``.
    async def request(self, message: Any, version: int, *, timeout_ms: int | None = None) -> Any:
        self._on_request(message)
        return await self._rpc.request(message, version, timeout_ms=timeout_ms)

    def close(self) -> None:
        self._rpc.close()
