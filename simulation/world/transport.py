"""SimTransport: one end of a connection in memory, for ``Protocol`` and ``BufferedProtocol``.

What is written is copied and carried by the network in order. It asks nothing of links and rules.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections import deque
from collections.abc import Iterable
from contextvars import Context
from enum import Enum
from typing import Any, Final, Protocol, TypeAlias

from protocol.ports import Buffer
from simulation.world.links import Link
from simulation.world.process import Process

WINDOW_BYTES: Final = 256 * 1024
"""What is under way or waits at the other end before it waits in the transport's own buffer."""
_HIGH_BYTES: Final = 64 * 1024


class Signal(Enum):
    """What ends a stream of bytes."""

    FIN = "fin"
    RST = "rst"


Segment: TypeAlias = "bytes | Signal"


class Carrier(Protocol):
    """What carries segments from one end to the other."""

    def carry(self, sender: SimTransport, segment: Segment) -> None:
        """Have ``segment`` arrive at the other end, behind those before."""
        ...

    def lost(self, end: SimTransport) -> None:
        """Forget an end."""
        ...


class SimTransport(asyncio.Transport):
    """One end. Made in pairs by the network; its callbacks run in the process it belongs to."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        carrier: Carrier,
        process: Process,
        context: Context,
        number: int,
    ) -> None:
        super().__init__()
        self.process = process
        self.context = context
        self.number = number
        """Of the connection; both ends have the same."""
        self.peer: SimTransport
        self.link: Link
        """The way from here to the other end."""
        self.addresses: dict[str, tuple[str, int]] = {}
        """``sockname`` and ``peername``."""
        self.last_arrival_us = 0
        """When the last segment that was sent from here arrives."""
        self.is_lost = False
        self.is_mute = False
        """Whether nothing it sends arrives, for ever, without a word."""
        self._loop = loop
        self._carrier = carrier
        self._protocol: asyncio.BaseProtocol
        self._buffered: asyncio.BufferedProtocol | None = None
        """The protocol, if it is one that has buffers."""
        self._received: deque[Segment] = deque()
        self._is_connected = False
        self._is_reading_paused = False
        self._is_closing = False
        self._is_eof_written = False
        self._unread_bytes = 0
        self._high_bytes = _HIGH_BYTES
        self._low_bytes = _HIGH_BYTES // 4
        self._is_writing_paused = False

    def connect(self, protocol: asyncio.BaseProtocol) -> None:
        """Hand the connection to its protocol, and then what came meanwhile."""
        self.set_protocol(protocol)
        self._is_connected = True
        protocol.connection_made(self)
        if self._received:
            self._loop.call_soon(self._read_on, context=self.context)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return ``sockname`` or ``peername``; there is no socket."""
        return self.addresses.get(name, default)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Hand what comes from now on to another protocol."""
        self._protocol = protocol
        self._buffered = protocol if isinstance(protocol, asyncio.BufferedProtocol) else None

    def get_protocol(self) -> asyncio.BaseProtocol:
        """Return the protocol."""
        return self._protocol

    def write(self, data: Buffer) -> None:
        """Send a copy of ``data``."""
        if data:
            self._send(bytes(data))

    def writelines(self, list_of_data: Iterable[Buffer]) -> None:
        """Send a copy of all buffers as one."""
        self.write(b"".join(list_of_data))

    def write_eof(self) -> None:
        """Send no more; what the other one sends still comes."""
        if not self._is_eof_written:
            self._send(Signal.FIN)
            self._is_eof_written = True

    def can_write_eof(self) -> bool:
        """Say that the two directions end one by one."""
        return True

    def close(self) -> None:
        """End the connection behind what was written."""
        if not self._is_closing:
            self.write_eof()
            self._lose(None)

    def abort(self) -> None:
        """End the connection at once."""
        self.close()

    def reset(self) -> None:
        """End the connection as a system does for a process that is gone."""
        if not self.is_lost:
            self._send(Signal.RST if self._received else Signal.FIN)
            self.vanish()

    def vanish(self) -> None:
        """End this end, and tell neither its protocol nor the other one."""
        self._is_closing = True
        self._forget()

    def is_closing(self) -> bool:
        """Tell whether it is closed or about to be."""
        return self._is_closing

    def pause_reading(self) -> None:
        """Hand nothing over until ``resume_reading``."""
        self._is_reading_paused = True

    def resume_reading(self) -> None:
        """Hand over what came meanwhile."""
        if self._is_reading_paused:
            self._is_reading_paused = False
            if self._received:
                self._loop.call_soon(self._read_on, context=self.context)

    def is_reading(self) -> bool:
        """Tell whether what comes is handed over."""
        return not self._is_reading_paused and not self._is_closing

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Set at how many unsent bytes the protocol pauses and goes on, by asyncio's defaults."""
        if high is None:
            high = _HIGH_BYTES if low is None else 4 * low
        self._high_bytes = high
        self._low_bytes = high // 4 if low is None else low

    def get_write_buffer_limits(self) -> tuple[int, int]:
        """Return low and high."""
        return self._low_bytes, self._high_bytes

    def get_write_buffer_size(self) -> int:
        """Return how much of what was written is not even under way."""
        return max(0, self._unread_bytes - WINDOW_BYTES)

    @property
    def has_unread(self) -> bool:
        """Whether the other end has not read all that was written here."""
        return self._unread_bytes > 0

    def arrive(self, segment: Segment) -> None:
        """Take what the network brings; called in this end's process."""
        if self.is_lost:
            return
        if segment is Signal.RST:
            self._received.clear()
        if self._is_reading_paused or self._received or not self._is_connected:
            self._received.append(segment)
        else:
            self._hand_over(segment)

    def fail(self, number: int) -> None:
        """End the connection with an error of the system."""
        if not self.is_lost:
            self._lose(OSError(number, os.strerror(number)))

    def count_read(self, size_bytes: int) -> None:
        """Note that the other end has read so much of what was written here."""
        self._unread_bytes -= size_bytes
        if self._is_writing_paused and self.get_write_buffer_size() <= self._low_bytes:
            self._loop.call_soon(self._resume_writing, context=self.context)

    def _send(self, segment: Segment) -> None:
        if self._is_closing or self._is_eof_written:
            return
        if not isinstance(segment, Signal):
            self._unread_bytes += len(segment)
        self._carrier.carry(self, segment)
        if self._unread_bytes > WINDOW_BYTES + self._high_bytes and not self._is_writing_paused:
            self._is_writing_paused = True
            self._protocol.pause_writing()

    def _read_on(self) -> None:
        while self._received and not self._is_reading_paused and not self.is_lost:
            self._hand_over(self._received.popleft())

    def _hand_over(self, segment: Segment) -> None:
        try:
            if segment is Signal.RST:
                self.fail(errno.ECONNRESET)
            elif segment is Signal.FIN:
                self._hand_over_eof()
            elif self._buffered is not None:
                self._fill(self._buffered, segment)
            else:
                self.peer.count_read(len(segment))
                self._protocol.data_received(segment)  # type: ignore[attr-defined]
        except Exception as error:  # noqa: BLE001 -- as asyncio: told, and the connection ends
            self._loop.call_exception_handler(
                {"message": "Fatal error: a protocol failed", "exception": error, "transport": self}
            )
            self._lose(error)

    def _hand_over_eof(self) -> None:
        assert isinstance(self._protocol, asyncio.Protocol | asyncio.BufferedProtocol)
        if not self._protocol.eof_received():
            self.close()

    def _fill(self, protocol: asyncio.BufferedProtocol, segment: bytes) -> None:
        buffer = memoryview(protocol.get_buffer(-1))
        size_bytes = len(segment)
        if size_bytes <= len(buffer):  # As nearly all do, it fits.
            buffer[:size_bytes] = segment
            self.peer.count_read(size_bytes)
            protocol.buffer_updated(size_bytes)
            return
        rest = memoryview(segment)
        while rest and not self._is_closing:
            if self._is_reading_paused:
                self._received.appendleft(bytes(rest))
                return
            buffer = memoryview(protocol.get_buffer(-1))
            size_bytes = min(len(buffer), len(rest))
            buffer[:size_bytes] = rest[:size_bytes]
            self.peer.count_read(size_bytes)
            protocol.buffer_updated(size_bytes)
            rest = rest[size_bytes:]

    def _resume_writing(self) -> None:
        if self._is_writing_paused and self.get_write_buffer_size() <= self._low_bytes:
            self._is_writing_paused = False
            self._protocol.resume_writing()

    def _lose(self, error: Exception | None) -> None:
        self._is_closing = True
        if not self.is_lost:
            self._loop.call_soon(self._protocol.connection_lost, error, context=self.context)
            self._forget()

    def _forget(self) -> None:
        self.is_lost = True
        self._received.clear()
        self._carrier.lost(self)
