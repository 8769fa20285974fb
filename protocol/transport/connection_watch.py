"""Which connections may be: not too many, none that is idle, none that keeps memory and stalls.

Nothing is looked at while nobody waits for memory, but for idle connections a few times in
``connections.max.idle.ms``.
Source: Selector.java IdleExpiryManager. Kafka lets a stalled request keep its memory as long.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from protocol.configs.broker import BrokerConfig
from protocol.connection import Peer
from protocol.transport.arrivals import Arrive, serve_at_once
from protocol.transport.server_memory import ServerMemory

STALLED_MS_MAX: Final = 1000
"""Who holds memory that others wait for must move ``STALLED_BYTES_MIN`` in this time."""
STALLED_BYTES_MIN: Final = 64 * 1024
IDLE_MS_MAX: Final = 600_000
"""Kafka's default of ``connections.max.idle.ms``."""
COUNT_MAX: Final = 2**31 - 1
"""Kafka's default of ``max.connections`` and ``max.connections.per.ip``: no bound."""
_IDLE_LOOKS: Final = 4
"""How often a connection is looked at before it counts as idle."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """What a server lets its connections do."""

    idle_ms_max: int = IDLE_MS_MAX
    """A connection without traffic and without a request here is closed then; 0 or less: never."""
    stalled_ms_max: int = STALLED_MS_MAX
    count_max: int = COUNT_MAX
    count_max_of: Mapping[str, int] = field(default_factory=dict[str, int])
    """By listener."""
    spared: str | None = None
    """The listener that ``count_max`` is not about: that of the nodes, where there are others."""
    count_per_host_max: int = COUNT_MAX
    count_max_of_host: Mapping[str, int] = field(default_factory=dict[str, int])
    """By address, of those that have a number of their own."""
    arrive: Arrive = serve_at_once
    """What becomes of a connection."""


def connection_limits(config: BrokerConfig) -> ConnectionLimits:
    """Return what ``config`` sets for a server with one listener."""
    return ConnectionLimits(
        idle_ms_max=config.connections_max_idle_ms,
        count_max=config.max_connections,
        count_per_host_max=config.max_connections_per_ip,
    )


class Watched(Protocol):
    """One connection, as the watch sees it."""

    @property
    def number(self) -> int:
        """Of the connection in its server."""
        ...

    @property
    def bytes_moved(self) -> int:
        """Received so far, less what is not sent: a peer that reads or sends makes it grow."""
        ...

    @property
    def is_in_the_way(self) -> bool:
        """Whether others wait for memory that its peer keeps by sending or reading too slowly."""
        ...

    @property
    def is_quiet(self) -> bool:
        """Whether nothing of it is here: no request, no answer, no part of one."""
        ...

    def close_because(self, reason: str) -> None:
        """End the connection."""
        ...


class ConnectionWatch:
    """Looks at the connections of one server. ``stop`` it at the end."""

    def __init__(
        self,
        connections: Callable[[], Iterable[Watched]],
        memory: ServerMemory,
        limits: ConnectionLimits,
    ) -> None:
        """Look at nothing yet."""
        self._connections = connections
        self._memory = memory
        self.limits = limits
        """May be replaced; connections that are open stay."""
        self._count_of_host: Counter[str] = Counter()
        self._count_at: Counter[str] = Counter()
        """By listener."""
        self._stall_timer: asyncio.TimerHandle | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._moved: dict[int, int] = {}
        self._quiet: dict[int, tuple[int, int]] = {}
        """Of quiet connections: the bytes moved then, and how often they were found so since."""
        memory.on_short = self._await_stalls

    def open(self, peer: Peer) -> bool:
        """Tell whether one more connection may be; it ends with ``close``."""
        reached = self._reached(peer)
        if reached is None:
            self._count_of_host[peer.host] += 1
            self._count_at[peer.listener] += 1
            self._await_idleness()
            return True
        logger.warning("%s: refused, %s is %d and so many are open", peer, *reached)
        return False

    def _reached(self, peer: Peer) -> tuple[str, int] | None:
        """Return which limit has no room for a connection, and how much it is; None: all have."""
        limits, listener = self.limits, peer.listener
        of_host = limits.count_max_of_host.get(peer.host, limits.count_per_host_max)
        if self._count_of_host[peer.host] >= of_host:
            return "max.connections.per.ip", of_host
        of_listener = limits.count_max_of.get(listener, COUNT_MAX)
        if self._count_at[listener] >= of_listener:
            return f"max.connections of the listener {listener}", of_listener
        if listener != limits.spared and self._count_at.total() >= limits.count_max:
            return "max.connections", limits.count_max
        return None

    def close(self, peer: Peer) -> None:
        """Note that a connection is over."""
        self._count_at[peer.listener] -= 1
        self._count_of_host[peer.host] -= 1
        if not self._count_of_host[peer.host]:
            del self._count_of_host[peer.host]

    def stop(self) -> None:
        """Look no more."""
        self._memory.on_short = None
        for timer in (self._stall_timer, self._idle_timer):
            if timer is not None:
                timer.cancel()

    def _await_idleness(self) -> None:
        if self._idle_timer is None and self.limits.idle_ms_max > 0:
            period_s = self.limits.idle_ms_max / 1000 / _IDLE_LOOKS
            loop = asyncio.get_running_loop()
            self._idle_timer = loop.call_later(period_s, self._close_idle)

    def _await_stalls(self) -> None:
        if self._stall_timer is None:
            loop = asyncio.get_running_loop()
            self._moved = {each.number: each.bytes_moved for each in self._connections()}
            self._stall_timer = loop.call_later(
                self.limits.stalled_ms_max / 1000, self._close_stalled
            )

    def _close_stalled(self) -> None:
        self._stall_timer = None
        for each in list(self._connections()):
            moved_bytes = each.bytes_moved - self._moved.get(each.number, -STALLED_BYTES_MIN)
            if each.is_in_the_way and moved_bytes < STALLED_BYTES_MIN:
                each.close_because(
                    f"it moved {moved_bytes} bytes in {self.limits.stalled_ms_max} ms, less than "
                    f"{STALLED_BYTES_MIN}, while others wait for the memory that it holds"
                )
        if self._memory.is_short:
            self._await_stalls()

    def _close_idle(self) -> None:
        self._idle_timer = None
        found: dict[int, tuple[int, int]] = {}
        for each in list(self._connections()):
            if not each.is_quiet:
                continue
            moved_bytes, looks = self._quiet.get(each.number, (-1, 0))
            looks = looks + 1 if moved_bytes == each.bytes_moved else 0
            found[each.number] = (each.bytes_moved, looks)
            if looks >= _IDLE_LOOKS:
                each.close_because(f"nothing moved in {self.limits.idle_ms_max} ms")
        self._quiet = found
        if self._count_of_host:
            self._await_idleness()
