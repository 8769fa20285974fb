"""SimNetwork: servers and connections in memory.

A port belongs to one node, whatever host is named with it. What is written arrives whole, in order
and late, or the connection ends: TCP's promise and no more.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Final, TypeAlias

from simulation.client_host import CLIENT_HOST
from simulation.world.delivery import Delivery
from simulation.world.links import Link, LinkRule, Links, next_attempt_us
from simulation.world.process import CURRENT, Process
from simulation.world.transport import Segment, SimTransport
from simulation.world.virtual_loop import VirtualLoop

_FIRST_FREE_PORT: Final = 40_000
_CONNECT_AGAIN_US: Final = 1_000_000
_CONNECT_US_MAX: Final = 127_000_000
"""When Linux gives an attempt to connect up."""

ProtocolFactory: TypeAlias = Callable[[], asyncio.BaseProtocol]


class _Socket:
    """All that is asked of a listening socket."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address

    def getsockname(self) -> tuple[str, int]:
        """Return host and port."""
        return self._address


class SimServer(asyncio.AbstractServer):
    """A listener, until ``close``."""

    def __init__(
        self, network: SimNetwork, factory: ProtocolFactory, address: tuple[str, int]
    ) -> None:
        self._network = network
        self.factory = factory
        self.address = address
        self.context = copy_context()
        self.process = network.current_process()
        self._is_serving = True

    @property
    def sockets(self) -> tuple[_Socket, ...]:
        """The one it listens on."""
        return (_Socket(self.address),) if self._is_serving else ()

    def close(self) -> None:
        """Accept no more; connections stay."""
        self._is_serving = False
        self._network.unlisten(self)

    async def wait_closed(self) -> None:
        """Return at once: nothing is left behind."""

    def is_serving(self) -> bool:
        """Tell whether it accepts."""
        return self._is_serving

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """Return the loop."""
        return self._network.loop

    async def start_serving(self) -> None:
        """Do nothing: it serves since it was made."""

    async def serve_forever(self) -> None:
        """Wait until cancelled."""
        await self._network.loop.create_future()


class SimNetwork:
    """All listeners and connections of one world."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.loop = loop
        self.links = Links(loop.chance.stream("network"))
        self._delivery = Delivery(loop, self.links)
        self._servers: dict[int, SimServer] = {}
        self._owners: dict[int, str] = {}
        self._next_port = _FIRST_FREE_PORT
        self._connections_made = 0

    @property
    def segments_count(self) -> int:
        """How many segments arrived."""
        return self._delivery.segments_count

    @property
    def ends(self) -> list[SimTransport]:
        """The ends of all open connections, in the order they were made."""
        return list(self._delivery.ends)

    def tap(self, listen: Callable[[SimTransport, Segment], None] | None) -> None:
        """Have ``listen`` told of every segment that is sent; None: nobody."""
        self._delivery.tap = listen

    def own(self, port: int, node: str) -> None:
        """Say which node answers for a port when nobody listens there."""
        self._owners[port] = node

    def end_process(self, process: Process) -> None:
        """Close all that a process had, as a system does when it ends."""
        for end in self._ends_of(process):
            end.reset()
        self._close_servers(process)

    def lose_process(self, process: Process) -> None:
        """Forget all that a process had, and tell nobody: the machine is off."""
        self.links.power_off(process.name)
        for end in self._ends_of(process):
            end.vanish()
        self._close_servers(process)

    def close(self) -> None:
        """End every connection in silence: the world is over."""
        for end in list(self._delivery.ends):
            end.vanish()

    def power_on(self, node: str) -> None:
        """Let a node that was off be reached again; it knows no old connection."""
        self.links.power_on(node)
        for end in list(self._delivery.ends):
            if end.peer.process.name == node and end.peer.is_lost and end.has_unread:
                self._delivery.reset_later(end)

    def half_open(self, source: str, target: str) -> int:
        """Let the connections of two nodes carry nothing any more, and tell neither end.

        ``*`` stands for any node. Returns how many connections it was.
        """
        rule = LinkRule(source=source, target=target, is_both_ways=True)
        met = [
            end
            for end in self._delivery.ends
            if rule.meets(end.process.name, end.peer.process.name)
        ]
        for end in met:
            end.is_mute = True
        return len({end.number: None for end in met})

    def current_process(self) -> Process:
        """Return whose code runs."""
        return CURRENT.get() or self.loop.world

    def listen(self, factory: ProtocolFactory, host: str, port: int) -> SimServer:
        """Begin to listen; port 0 takes a free one.

        Raises:
            OSError: the port is taken.
        """
        port = port or self._free_port()
        if port in self._servers:
            raise OSError(errno.EADDRINUSE, f"address {host}:{port} is in use")
        server = self._servers[port] = SimServer(self, factory, (host, port))
        self._owners[port] = server.process.name
        return server

    def unlisten(self, server: SimServer) -> None:
        """Stop listening."""
        if self._servers.get(server.address[1]) is server:
            del self._servers[server.address[1]]

    async def connect(
        self, factory: ProtocolFactory, host: str, port: int
    ) -> tuple[SimTransport, asyncio.BaseProtocol]:
        """Connect to whoever listens.

        Raises:
            ConnectionRefusedError: nobody does.
            TimeoutError: no answer for as long as a system tries.
        """
        process = self.current_process()
        target = self._owners.get(port, host)
        there = self.links.link(process.name, target)
        back = self.links.link(target, process.name)
        await self._until_reachable(there, back)
        await self._pass(there)
        server = self._servers.get(port)
        if server is None:
            await self._pass(back)
            text = f"Connect call failed ({host!r}, {port})"
            raise ConnectionRefusedError(errno.ECONNREFUSED, text)
        near, far = self._make_pair(process, server)
        self.loop.call_soon(self._accept, server, far, context=far.context)
        try:
            await self._pass(back)
        except BaseException:
            near.reset()
            raise
        protocol = factory()
        near.connect(protocol)
        return near, protocol

    async def _until_reachable(self, there: Link, back: Link) -> None:
        """Try as a system does, later and later."""
        first_us = self.loop.now_us
        there.hit()
        if self.links.is_silent(back):
            back.hit()
        while self.links.is_silent(there) or self.links.is_silent(back):
            at_us = next_attempt_us(first_us, self.loop.now_us, _CONNECT_AGAIN_US)
            if at_us - first_us > _CONNECT_US_MAX:
                raise TimeoutError(errno.ETIMEDOUT, f"{there.target} does not answer")
            await asyncio.sleep((at_us - self.loop.now_us) / 1_000_000)

    async def _pass(self, link: Link) -> None:
        now_us = self.loop.now_us
        await asyncio.sleep((link.arrival_us(now_us, 0) - now_us) / 1_000_000)

    def _make_pair(self, process: Process, server: SimServer) -> tuple[SimTransport, SimTransport]:
        self._connections_made += 1
        near = self._make_end(process, copy_context())
        far = self._make_end(server.process, server.context.copy())
        near.peer, far.peer = far, near
        near.link = self.links.link(process.name, server.process.name)
        far.link = self.links.link(server.process.name, process.name)
        own = (CLIENT_HOST.get(), self._free_port())
        near.addresses = {"sockname": own, "peername": server.address}
        far.addresses = {"sockname": server.address, "peername": own}
        return near, far

    def _make_end(self, process: Process, context: Context) -> SimTransport:
        end = SimTransport(self.loop, self._delivery, process, context, self._connections_made)
        self._delivery.ends[end] = None
        return end

    def _accept(self, server: SimServer, end: SimTransport) -> None:
        if server.is_serving():
            end.connect(server.factory())
        else:
            end.reset()

    def _free_port(self) -> int:
        self._next_port += 1
        return self._next_port

    def _ends_of(self, process: Process) -> list[SimTransport]:
        return [end for end in self._delivery.ends if end.process is process]

    def _close_servers(self, process: Process) -> None:
        for server in [one for one in self._servers.values() if one.process is process]:
            server.close()
