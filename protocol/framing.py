"""Bytes in, whole frames out, with the size limit enforced. No sockets, and no look inside a frame.

A frame is int32 size and that many bytes. What a peer announces costs nothing before it comes: a
frame of more than ``HELD_BYTES_MIN`` gets memory of its own once its first bytes are there, and one
of more than ``MAPPED_BYTES_MIN`` gets pages from the system that are filled as its bytes arrive.
Source: NetworkReceive.java.
"""

from __future__ import annotations

from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from struct import Struct
from typing import Final, TypeAlias

from protocol.errors import Malformed
from protocol.ports import Buffer

FRAME_SIZE_BYTES_MAX: Final = 100 * 1024 * 1024
"""Kafka's default of ``socket.request.max.bytes``."""
RECEIVE_BUFFER_BYTES: Final = 64 * 1024
DIRECT_BYTES_MIN: Final = 16 * 1024
"""A frame with at least this much missing is received into its own memory, without a copy."""
HELD_BYTES_MIN: Final = RECEIVE_BUFFER_BYTES
"""A frame of more than this is admitted only once ``DIRECT_BYTES_MIN`` of it have come."""
MAPPED_BYTES_MIN: Final = 2 * 1024 * 1024
"""A frame of more than this is mapped: it is not filled with zeros before, and goes back to the
system with its last view, however the allocator keeps what it was given. It pays for every page
anew: requests of ordinary producers, up to 1 MiB and a header, are smaller."""

Frame: TypeAlias = "bytearray | mmap"

_SIZE: Final = Struct(">i")


class FrameReader:
    """Cuts a byte stream into frames.

    ``receive_buffer`` may be shared by many readers as long as nothing comes between one reader's
    ``next_buffer`` and ``received``; event loops on Unix call them back to back.

    A reader that ``waits`` tells by ``wanted_bytes`` that a frame needs memory, and should be given
    no further bytes before ``admit``. One that does not wait takes the memory by itself.

    A broken size does not raise, because frames before it still count: it sets ``malformed``, and
    nothing after it is read.
    """

    __slots__ = (
        "_filled",
        "_frame",
        "_head",
        "_is_direct",
        "_shared",
        "_size",
        "_size_bytes_max",
        "_size_part",
        "_waits",
        "malformed",
        "wanted_bytes",
    )

    def __init__(
        self,
        size_bytes_max: int = FRAME_SIZE_BYTES_MAX,
        receive_buffer: bytearray | None = None,
        *,
        waits: bool = False,
    ) -> None:
        assert receive_buffer is None or len(receive_buffer) >= DIRECT_BYTES_MIN
        self._size_bytes_max = size_bytes_max
        self._shared = memoryview(receive_buffer or bytearray(RECEIVE_BUFFER_BYTES))
        self._waits = waits
        self._size_part = b""
        self._frame: Frame | None = None
        self._head: bytearray | None = None
        self._size = 0
        self._filled = 0
        self._is_direct = False
        self.wanted_bytes = 0
        """The size of the frame that waits for ``admit``; 0 when none does."""
        self.malformed: Malformed | None = None

    def limit(self, size_bytes_max: int) -> None:
        """Take frames up to another size from now on."""
        self._size_bytes_max = size_bytes_max

    def next_buffer(self) -> memoryview:
        """Return the memory that the next bytes of the stream go to; valid until ``received``."""
        frame = self._frame
        if frame is not None and self._size - self._filled >= DIRECT_BYTES_MIN:
            self._is_direct = True
            return memoryview(frame)[self._filled :]
        self._is_direct = False
        return self._shared

    def received(self, size_bytes: int) -> list[Frame]:
        """Take the ``size_bytes`` just put into ``next_buffer()``; return the frames they complete.

        Each frame is without its size and in memory that nobody else uses.
        """
        if self._is_direct:
            return self._received_directly(size_bytes)
        return self.feed(self._shared[:size_bytes])

    def feed(self, data: Buffer) -> list[Frame]:
        """Take the next bytes of the stream, wherever they lie, and copy what belongs to frames."""
        frames: list[Frame] = []
        if self.malformed is not None:
            return frames
        view = memoryview(data)
        is_inside = self._frame is not None or self._head is not None
        position = self._fill(view, frames) if is_inside else 0
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

    def admit(self) -> None:
        """Take memory for the whole frame that was wanted; its bytes may come now."""
        head = self._head
        assert head is not None
        self.wanted_bytes = 0
        self._head = None
        self._frame = _new_frame(self._size)
        memoryview(self._frame)[: len(head)] = head
        self._filled = len(head)

    def drop(self) -> None:
        """Let go of a frame whose end will never come."""
        self._frame = self._head = None
        self.wanted_bytes = 0

    @property
    def is_filling_admitted(self) -> bool:
        """Whether bytes are missing of a frame that was admitted."""
        return self._frame is not None and self._size > HELD_BYTES_MIN

    @property
    def missing_bytes(self) -> int:
        """How many bytes are missing of the frame under way, if it has memory."""
        return 0 if self._frame is None else self._size - self._filled

    @property
    def head(self) -> bytearray:
        """The first bytes of the frame that waits for ``admit``."""
        return self._head or bytearray()

    @property
    def is_inside_frame(self) -> bool:
        """Whether the stream would be cut in the middle of a frame if it ended now."""
        return self._frame is not None or self._head is not None or bool(self._size_part)

    def _received_directly(self, size_bytes: int) -> list[Frame]:
        frame = self._frame
        assert frame is not None
        self._filled += size_bytes
        if self._filled < self._size:
            return []
        self._frame = None
        return [frame]

    def _fill(self, view: memoryview, frames: list[Frame]) -> int:
        """Copy into the frame under way; return how many bytes of ``view`` it took."""
        taken = 0 if self._head is None else self._fill_head(self._head, view, frames)
        frame = self._frame
        if frame is None:
            return taken
        size = min(self._size - self._filled, len(view) - taken)
        frame[self._filled : self._filled + size] = view[taken : taken + size]
        self._filled += size
        if self._filled == self._size:
            self._frame = None
            frames.append(frame)
        return taken + size

    def _fill_head(self, head: bytearray, view: memoryview, frames: list[Frame]) -> int:
        """Keep what comes before the frame is admitted; return how many bytes of ``view`` it is."""
        size_max = self._size if self._waits else DIRECT_BYTES_MIN
        taken = min(size_max - len(head), len(view))
        head += view[:taken]
        if len(head) == self._size:  # It came all at once, before it could be told to wait.
            self._head, self.wanted_bytes = None, 0
            frames.append(head)
        elif len(head) >= DIRECT_BYTES_MIN:
            self.wanted_bytes = self._size
            if not self._waits:
                self.admit()
        return taken

    def _finish_size(self, view: memoryview, position: int, frames: list[Frame]) -> int:
        """Complete a size that was cut by the end of the bytes before; return the new position."""
        missing = 4 - len(self._size_part)
        self._size_part += bytes(view[position : position + missing])
        position = min(position + missing, len(view))
        if len(self._size_part) < 4:
            return position
        size: int = _SIZE.unpack(self._size_part)[0]
        self._size_part = b""
        return self._begin(size, view, position, frames)

    def _begin(self, size: int, view: memoryview, position: int, frames: list[Frame]) -> int:
        """Begin a frame and fill it as far as ``view`` reaches; return the position."""
        if not 0 <= size <= self._size_bytes_max:
            self.malformed = Malformed(
                f"frame of {size} bytes, the limit is {self._size_bytes_max}"
            )
            return len(view)
        self._size = size
        self._filled = 0
        if size > HELD_BYTES_MIN:
            self._head = bytearray()
        else:
            self._frame = bytearray(size)
        return position + self._fill(view[position:], frames)


def _new_frame(size_bytes: int) -> Frame:
    if size_bytes <= MAPPED_BYTES_MIN:
        return bytearray(size_bytes)
    return mmap(-1, size_bytes, flags=MAP_PRIVATE | MAP_ANONYMOUS)
