"""The last offset of each key in the dirty part of a log, in a fixed number of bytes.

Keys are known by their 128-bit digest alone, as in Kafka: an entry takes 24 bytes whatever the key
weighs. It reads no logs.

Source: SkimpyOffsetMap.java.
"""

from __future__ import annotations

import hashlib
import math
from struct import Struct
from typing import Final

from protocol.ids import NO_OFFSET

ENTRY_BYTES: Final = 24
LOAD_FACTOR: Final = 0.9
"""``log.cleaner.io.buffer.load.factor`` by default: fuller tables mean longer searches."""
_LOAD_FACTOR_MIN: Final = 0.01
_DIGEST_BYTES: Final = 16
_FREE: Final = bytes(_DIGEST_BYTES)
_OFFSET: Final = Struct(">q")


class OffsetMap:
    """An open-addressed table of (digest, offset)."""

    __slots__ = ("_count_max", "_slots", "_table", "count", "latest_offset")

    def __init__(
        self, size_bytes_max: int, *, keys_max: int, load_factor: float = LOAD_FACTOR
    ) -> None:
        """Take at most ``size_bytes_max``, and no more than ``keys_max`` keys can need."""
        factor = _usable(load_factor)
        slots_max = max(size_bytes_max // ENTRY_BYTES, 2)
        self._slots = min(slots_max, int(max(keys_max, 0) / factor) + 2)
        # A search ends at a free slot.
        self._count_max = min(max(int(self._slots * factor), 1), self._slots - 1)
        self._table = bytearray(self._slots * ENTRY_BYTES)
        self.count = 0
        """Keys held."""
        self.latest_offset: int = NO_OFFSET
        """Everything up to it was looked at; -1 before the first record."""

    @property
    def size_bytes(self) -> int:
        """What the table takes."""
        return len(self._table)

    def put(self, key: bytes, offset: int) -> bool:
        """Note that ``key`` is at ``offset``, larger than those before; False: no room for it."""
        digest = _digest(key)
        position, is_known = self._find(digest)
        if not is_known:
            if self.count >= self._count_max:
                return False
            self._table[position : position + _DIGEST_BYTES] = digest
            self.count += 1
        _OFFSET.pack_into(self._table, position + _DIGEST_BYTES, offset)
        self.latest_offset = offset
        return True

    def get(self, key: bytes) -> int:
        """Return the last offset of ``key``, -1 when it has none here."""
        position, is_known = self._find(_digest(key))
        if not is_known:
            return NO_OFFSET
        offset: int = _OFFSET.unpack_from(self._table, position + _DIGEST_BYTES)[0]
        return offset

    def advance(self, offset: int) -> None:
        """Note that everything up to ``offset`` was looked at."""
        self.latest_offset = max(self.latest_offset, offset)

    def _find(self, digest: bytes) -> tuple[int, bool]:
        """Return where ``digest`` is or belongs, and whether it is there."""
        table, end = self._table, len(self._table)
        position = int.from_bytes(digest[:8]) % self._slots * ENTRY_BYTES
        while not table.startswith(digest, position):
            if table.startswith(_FREE, position):
                return position, False
            position += ENTRY_BYTES
            if position == end:
                position = 0
        return position, True


def _usable(load_factor: float) -> float:
    """Return the nearest factor that makes a table: the setting may be any number, and none."""
    if math.isnan(load_factor):
        return LOAD_FACTOR
    return min(max(load_factor, _LOAD_FACTOR_MIN), 1.0)


def _digest(key: bytes) -> bytes:
    return hashlib.blake2b(key, digest_size=_DIGEST_BYTES).digest()
