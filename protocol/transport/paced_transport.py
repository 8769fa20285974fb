"""A transport by which chosen answers leave slowly, in slices, or not to their end.

It stands between a connection of a server and its transport from the first such answer on, and
knows answers by their correlation ids. What has no pace passes at once.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, Final

from protocol.connection import Peer
from protocol.ports import Buffer

_HEAD: Final = Struct(">ii")
"""Size of what follows, correlation id."""
_TICK_S: Final = 0.05
"""How often something leaves where no slices are asked for."""
_NO_LINGER: Final = Struct("ii").pack(1, 0)
"""Of SO_LINGER: closing drops what is unsent and resets the connection."""


@dataclass(slots=True)
class Pace:
    """How answers leave: one of them, or all that one rule meets."""

    bytes_per_second: int | None = None
    slice_bytes: int | None = None
    slice_jitter_bytes: int = 0
    pause_ms: int = 0
    """Between two slices."""
    is_over: bool = False
    """Whether what is left of it leaves at once."""
    _sleeping: dict[PacedTransport, None] = field(default_factory=dict["PacedTransport", None])
    """Where a slice waits for its time."""

    def end(self) -> None:
        """Let what is left of it leave at once."""
        self.is_over = True
        for transport in list(self._sleeping):
            transport.go_on()

    def sleeps(self, transport: PacedTransport) -> None:
        """Note that a slice waits there: ``end`` will not."""
        self._sleeping[transport] = None

    def wakes(self, transport: PacedTransport) -> None:
        """Note that none waits there any more."""
        self._sleeping.pop(transport, None)

    def slice(self, draw: Callable[[], float]) -> int:
        """Return how many bytes leave together; ``draw`` draws from 0 to 1."""
        if self.slice_bytes is None:
            return max(1, int((self.bytes_per_second or 0) * _TICK_S))
        return max(1, self.slice_bytes + round((2 * draw() - 1) * self.slice_jitter_bytes))

    def wait_s(self, size_bytes: int) -> float:
        """Return how long so many bytes wait before they leave."""
        rate = self.bytes_per_second
        return self.pause_ms / 1000 + (size_bytes / rate if rate else 0.0)


class PacedTransport(asyncio.Transport):
    """One connection's; answers are named by ``pace`` before they are written."""

    def __init__(self, below: asyncio.Transport, draw: Callable[[], float]) -> None:
        super().__init__()
        self._below = below
        self._draw = draw
        self._paces: dict[int, Pace] = {}
        self._cut_at: dict[int, int] = {}
        self._head = bytearray()
        self._frame_left_bytes = 0
        self._pace: Pace | None = None
        """Of the answer that is being written."""
        self._waiting: deque[tuple[memoryview, Pace | None]] = deque()
        self._waiting_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._is_closing = False
        self._left_bytes: int | None = None
        """How much may still leave before the connection is closed; None: all."""
        self._drained: asyncio.Future[None] | None = None
        self._is_full = False
        """Whether the protocol was told to write no more, for what waits here."""

    def pace(self, correlation_id: int, pace: Pace) -> None:
        """Let the answer with this id leave so."""
        self._paces[correlation_id] = pace

    def cut(self, correlation_id: int, capacity_bytes: int) -> None:
        """Close once so many bytes have left, from the answer with this id on; the least counts."""
        self._cut_at[correlation_id] = capacity_bytes

    async def until_drained(self) -> None:
        """Wait until nothing of what was written waits here."""
        while self._waiting and not self._below.is_closing():
            self._drained = asyncio.get_running_loop().create_future()
            await self._drained

    def write(self, data: Buffer) -> None:
        """Send ``data`` behind what waits."""
        rest = memoryview(data).cast("B")
        while rest and not self.is_closing():
            if self._frame_left_bytes == 0:
                missing = _HEAD.size - len(self._head)
                self._head += rest[:missing]
                rest = rest[missing:]
                if len(self._head) == _HEAD.size:
                    self._begin_frame()
            else:
                part, rest = rest[: self._frame_left_bytes], rest[self._frame_left_bytes :]
                self._frame_left_bytes -= len(part)
                self._pass(part)
        self._tell_fullness()

    def writelines(self, list_of_data: Iterable[Buffer]) -> None:
        """Send all of them in order."""
        for data in list_of_data:
            self.write(data)

    def _begin_frame(self) -> None:
        head, self._head = self._head, bytearray()
        size_bytes, correlation_id = _HEAD.unpack(head)
        self._pace = self._paces.pop(correlation_id, None)
        capacity_bytes = self._cut_at.pop(correlation_id, None)
        if capacity_bytes is not None:
            left = capacity_bytes if self._left_bytes is None else self._left_bytes
            self._left_bytes = min(left, capacity_bytes)
        self._frame_left_bytes = size_bytes - 4
        self._pass(memoryview(head))

    def _pass(self, part: memoryview) -> None:
        if self._left_bytes is not None and len(part) >= self._left_bytes:
            part = part[: self._left_bytes]
        if self._left_bytes is not None:
            self._left_bytes -= len(part)
        if self._pace is None and not self._waiting:
            self._below.write(part)
        elif part:
            self._waiting.append((part, self._pace))
            self._waiting_bytes += len(part)
            if self._timer is None:
                self.go_on()
        if self._left_bytes == 0:
            self.close()

    def go_on(self) -> None:
        """Send what needs no wait any more, and have the next slice sent in its time."""
        self._sleep_no_more()
        while self._waiting and not self._below.is_closing():
            part, pace = self._waiting[0]
            if pace is not None and not pace.is_over:
                size_bytes = min(len(part), pace.slice(self._draw))
                loop = asyncio.get_running_loop()
                self._timer = loop.call_later(pace.wait_s(size_bytes), self._send, size_bytes)
                pace.sleeps(self)
                break
            self._take(len(part))
        else:
            self._settle()
        self._tell_fullness()

    def _send(self, size_bytes: int) -> None:
        if not self._below.is_closing():
            self._take(size_bytes)
        self.go_on()

    def _sleep_no_more(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting and (pace := self._waiting[0][1]) is not None:
            pace.wakes(self)

    def _tell_fullness(self) -> None:
        """Have the protocol pause or go on: what waits here is memory as what waits below is."""
        low, high = self._below.get_write_buffer_limits()
        is_full = self._waiting_bytes > (low if self._is_full else high)
        if is_full is self._is_full:
            return
        self._is_full = is_full
        protocol = self._below.get_protocol()
        (protocol.pause_writing if is_full else protocol.resume_writing)()

    def _take(self, size_bytes: int) -> None:
        part, pace = self._waiting.popleft()
        if pace is not None:
            pace.wakes(self)
        if size_bytes < len(part):
            self._waiting.appendleft((part[size_bytes:], pace))
        self._waiting_bytes -= min(size_bytes, len(part))
        self._below.write(part[:size_bytes])

    def _settle(self) -> None:
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        if self._is_closing:
            self._below.close()

    def is_closing(self) -> bool:
        """Tell whether it is closed or about to be."""
        return self._is_closing or self._below.is_closing()

    def close(self) -> None:
        """Close behind what waits; that is dropped when the connection is lost already."""
        self._is_closing = True
        if self._below.is_closing():
            self._drop()
        if not self._waiting:
            self._below.close()

    def abort(self) -> None:
        """Close at once; what waits is dropped."""
        self._is_closing = True
        self._drop()
        self._below.abort()
        self._settle()

    def _drop(self) -> None:
        self._sleep_no_more()
        self._waiting.clear()
        self._waiting_bytes = 0

    def get_write_buffer_size(self) -> int:
        """Return how much of what was written is not sent."""
        return self._waiting_bytes + self._below.get_write_buffer_size()

    def get_write_buffer_limits(self) -> tuple[int, int]:
        """Return low and high of the transport below."""
        return self._below.get_write_buffer_limits()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Set those of the transport below."""
        self._below.set_write_buffer_limits(high, low)

    def pause_reading(self) -> None:
        """Have nothing handed over."""
        self._below.pause_reading()

    def resume_reading(self) -> None:
        """Have what came meanwhile handed over."""
        self._below.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return what the transport below knows."""
        return self._below.get_extra_info(name, default)


class ServerLinks:
    """The connections of a server, for who slows or resets one of them."""

    def __init__(
        self,
        transport_of: Callable[[int], asyncio.Transport | None],
        replace: Callable[[int, asyncio.Transport], None],
        draw: Callable[[], float],
    ) -> None:
        """Both know a connection by its number; ``draw`` draws from 0 to 1."""
        self._transport_of = transport_of
        self._replace = replace
        self._draw = draw

    def paced(self, peer: Peer) -> PacedTransport | None:
        """Return the paced transport of a connection, made now; None when it is gone."""
        transport = self._transport_of(peer.number)
        if transport is None or isinstance(transport, PacedTransport):
            return transport
        made = PacedTransport(transport, self._draw)
        self._replace(peer.number, made)
        return made

    def is_open(self, peer: Peer) -> bool:
        """Tell whether somebody is there whom an answer can reach."""
        transport = self._transport_of(peer.number)
        return transport is not None and not transport.is_closing()

    async def until_drained(self, peer: Peer) -> None:
        """Wait until what left slowly by a connection has left."""
        transport = self._transport_of(peer.number)
        if isinstance(transport, PacedTransport):
            await transport.until_drained()

    def reset(self, peer: Peer) -> None:
        """End a connection so that its other end is told of a reset."""
        transport = self._transport_of(peer.number)
        if transport is not None:
            below = transport.get_extra_info("socket")
            if below is not None:
                below.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
            transport.abort()
