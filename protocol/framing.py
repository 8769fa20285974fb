"""Bytes in, whole frames out, with the size limit enforced. No sockets, and no look inside a frame.

A frame is int32 size and that many bytes. Source: NetworkReceive.java, jbod-apis section 1.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from protocol.errors import Malformed
from protocol.ports import Buffer

FRAME_SIZE_BYTES_MAX: Final = 100 * 1024 * 1024
"""Kafka's default of ``socket.request.max.bytes``."""
RECEIVE_BUFFER_BYTES: Final = 64 * 1024
DIRECT_BYTES_MIN: Final = 16 * 1024
"""A frame with at least this much missing is received into its own memory, without a copy."""

_SIZE: Final = Struct(">i")


class FrameReader:
    """Cuts a byte stream into frames.

    ``receive_buffer`` may be shared by many readers as long as nothing comes between one reader's
    ``next_buffer`` and ``received``; event loops on Unix call them back to back.

    A broken size does not raise, because frames before it still count: it sets ``malformed``, and
    nothing after it is read.
    """

    __slots__ = (
        "_filled",
        "_frame",
        "_is_direct",
        "_shared",
        "_size_bytes_max",
        "_size_part",
        "malformed",
    )

    def __init__(
        self,
        size_bytes_max: int = FRAME_SIZE_BYTES_MAX,
        receive_buffer: bytearray | None = None,
    ) -> None:
        assert receive_buffer is None or len(receive_buffer) >= DIRECT_BYTES_MIN
        self._size_bytes_max = size_bytes_max
        self._shared = memoryview(receive_buffer or bytearray(RECEIVE_BUFFER_BYTES))
        self._size_part = b""
        self._frame: bytearray | None = None
        self._filled = 0
        self._is_direct = False
        self.malformed: Malformed | None = None

    def next_buffer(self) -> memoryview:
        """Return the memory that the next bytes of the stream go to; valid until ``received``."""
        frame = self._frame
        if frame is not None and len(frame) - self._filled >= DIRECT_BYTES_MIN:
            self._is_direct = True
            return memoryview(frame)[self._filled :]
        self._is_direct = False
        return self._shared

    def received(self, size_bytes: int) -> list[bytearray]:
        """Take the ``size_bytes`` just put into ``next_buffer()``; return the frames they complete.

        Each frame is without its size and in memory that nobody else uses.
        """
        if self._is_direct:
            return self._received_directly(size_bytes)
        return self.feed(self._shared[:size_bytes])

    def feed(self, data: Buffer) -> list[bytearray]:
        """Take the next bytes of the stream, wherever they lie, and copy what belongs to frames."""
        frames: list[bytearray] = []
        if self.malformed is not None:
            return frames
        view = memoryview(data)
        position = self._fill(view, frames) if self._frame is not None else 0
        if self._size_part:
            position = self._finish_size(view, position, frames)
        end = len(view)
        while end - position >= 4:
            size: int = _SIZE.unpack_from(view, position)[0]
            position += 4
            if size > end - position or size < 0:
                position = self._begin(size, view, position, frames)
            else:
                frames.append(bytearray(view[position : position + size]))
                position += size
        if position < end:
            self._size_part += bytes(view[position:])
        return frames

    @property
    def is_inside_frame(self) -> bool:
        """Whether the stream would be cut in the middle of a frame if it ended now."""
        return self._frame is not None or bool(self._size_part)

    def _received_directly(self, size_bytes: int) -> list[bytearray]:
        frame = self._frame
        assert frame is not None
        self._filled += size_bytes
        if self._filled < len(frame):
            return []
        self._frame = None
        return [frame]

    def _fill(self, view: memoryview, frames: list[bytearray]) -> int:
        """Copy into the frame under way; return how many bytes of ``view`` it took."""
        frame = self._frame
        assert frame is not None
        taken = min(len(frame) - self._filled, len(view))
        frame[self._filled : self._filled + taken] = view[:taken]
        self._filled += taken
        if self._filled == len(frame):
            self._frame = None
            frames.append(frame)
        return taken

    def _finish_size(self, view: memoryview, position: int, frames: list[bytearray]) -> int:
        """Complete a size that was cut by the end of the bytes before; return the new position."""
        missing = 4 - len(self._size_part)
        self._size_part += bytes(view[position : position + missing])
        position = min(position + missing, len(view))
        if len(self._size_part) < 4:
            return position
        size: int = _SIZE.unpack(self._size_part)[0]
        self._size_part = b""
        return self._begin(size, view, position, frames)

    def _begin(self, size: int, view: memoryview, position: int, frames: list[bytearray]) -> int:
        """Take memory for a frame and fill it as far as ``view`` reaches; return the position."""
        if not 0 <= size <= self._size_bytes_max:
            self.malformed = Malformed(
                f"frame of {size} bytes, the limit is {self._size_bytes_max}"
            )
            return len(view)
        self._frame = bytearray(size)
        self._filled = 0
        return position + self._fill(view[position:], frames)
