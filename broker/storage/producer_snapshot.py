"""The bytes of a producer snapshot. What they mean is in `broker.core.producers`.

Source: ProducerStateManager.java.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final

from crc32c import crc32c

from broker.core.producer_entry import ProducerEntry

_VERSION: Final = 1
_HEAD: Final = Struct(">hI")
_COUNT: Final = Struct(">i")
_ENTRY: Final = Struct(">qhiqiqiq")


class CorruptSnapshot(ValueError):  # noqa: N818 -- says what it met
    """A snapshot file that is cut or damaged; the state is read from the log instead."""


def pack_snapshot(entries: Iterable[ProducerEntry]) -> bytes:
    """Return the content of a snapshot file."""
    packed = [_ENTRY.pack(*entry) for entry in entries]
    body = b"".join([_COUNT.pack(len(packed)), *packed])
    return _HEAD.pack(_VERSION, crc32c(body)) + body


def unpack_snapshot(data: bytes) -> list[ProducerEntry]:
    """Return the entries of a snapshot file.

    Raises:
        CorruptSnapshot: unknown version, wrong sum or wrong size.
    """
    if len(data) < _HEAD.size + _COUNT.size:
        raise CorruptSnapshot(f"{len(data)} bytes are no snapshot")
    version, crc = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise CorruptSnapshot(f"version {version}, known is {_VERSION}")
    body = memoryview(data)[_HEAD.size :]
    if crc32c(body) != crc:
        raise CorruptSnapshot("wrong CRC")
    entries = body[_COUNT.size :]
    if _COUNT.unpack_from(body)[0] * _ENTRY.size != len(entries):
        raise CorruptSnapshot(f"{_COUNT.unpack_from(body)[0]} entries in {len(entries)} bytes")
    return [ProducerEntry(*fields) for fields in _ENTRY.iter_unpack(entries)]
