"""One connection to a broker, as bytes: what is sent leaves as it is, whole frames come back.

It does not pair answers with requests: whoever judges them must see those that fit nothing, too.
"""

from __future__ import annotations

import contextlib
import socket
import time
from struct import Struct
from typing import Final

_SIZE: Final = Struct(">i")
_ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
_READ_BYTES: Final = 1 << 16


class Connection:
    """Of a socket that is connected, and logged in where the listener asks for it."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._received = bytearray()
        self.is_closed = False
        """Whether the broker has closed it."""

    def send(self, data: bytes, *, chunk_bytes: int = 0) -> None:
        """Send bytes, in pieces if asked; a connection that is closed meanwhile is only noted."""
        step = chunk_bytes or max(len(data), 1)
        try:
            for at in range(0, len(data), step):
                self._socket.sendall(data[at : at + step])
        except (ConnectionError, TimeoutError):
            self.is_closed = True

    def half_close(self) -> None:
        """Tell the broker that nothing more will be sent."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def frame(self, timeout_s: float) -> bytes | None:
        """Return the next whole answer without its size; None: it is closed, or nothing came.

        ``is_closed`` tells which.
        """
        end = time.monotonic() + timeout_s
        while True:
            found = self._whole()
            if found is not None:
                return found
            if not self._fill(end - time.monotonic()):
                return None

    def close(self) -> None:
        """Let go of it."""
        self._socket.close()

    def _whole(self) -> bytes | None:
        if len(self._received) < _SIZE.size:
            return None
        (size,) = _SIZE.unpack_from(self._received)
        if not 0 <= size <= _ANSWER_BYTES_MAX:
            self.is_closed = True  # What follows cannot be told apart.
            return None
        if len(self._received) < _SIZE.size + size:
            return None
        frame = bytes(self._received[_SIZE.size : _SIZE.size + size])
        del self._received[: _SIZE.size + size]
        return frame

    def _fill(self, timeout_s: float) -> bool:
        """Read more; False when there is no more, or not in time."""
        if self.is_closed or timeout_s <= 0:
            return False
        self._socket.settimeout(timeout_s)
        try:
            data = self._socket.recv(_READ_BYTES)
        except TimeoutError:
            return False
        except OSError:
            data = b""
        self._received += data
        self.is_closed = self.is_closed or not data
        return bool(data)
