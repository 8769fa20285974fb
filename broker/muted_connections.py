"""Connections of clients that were told to wait: none of their requests is begun until then.

Source: KIP-219, ClientQuotaManager.throttle, SocketServer's mute states.
"""

from __future__ import annotations

import asyncio

from protocol.connection import Peer


class MutedConnections:
    """Until when each connection is muted, in the loop's time."""

    def __init__(self) -> None:
        self._until_s: dict[int, float] = {}
        self.is_any = False
        """Whether any may be muted; a plain attribute, as every request looks at it."""

    def mute(self, peer: Peer, throttle_ms: int) -> None:
        """Have the next request of a connection wait; a longer wait than this one stands."""
        now_s = asyncio.get_running_loop().time()
        self._until_s = {number: s for number, s in self._until_s.items() if s > now_s}
        until_s = now_s + throttle_ms / 1000
        self._until_s[peer.number] = max(until_s, self._until_s.get(peer.number, until_s))
        self.is_any = True

    async def until_unmuted(self, peer: Peer) -> None:
        """Wait as long as the client was told to."""
        until_s = self._until_s.get(peer.number)
        if until_s is None:
            return
        await asyncio.sleep(max(0.0, until_s - asyncio.get_running_loop().time()))
        if self._until_s.get(peer.number) == until_s:
            del self._until_s[peer.number]
            self.is_any = bool(self._until_s)
