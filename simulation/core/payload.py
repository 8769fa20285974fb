"""The bytes of a workload's records: a number, and a filling by which one changed byte is noticed.

It draws no chance: the same number and size are the same bytes.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from crc32c import crc32c

from protocol.ports import Buffer
from protocol.records.records import Headers
from simulation.core.history import UNREADABLE

_NUMBER: Final = Struct(">QI")
_HEADER: Final = "record"
_KEY_LIVES: Final = 8
SIZE_BYTES_MIN: Final = _NUMBER.size
RECORDS_PER_WORKLOAD: Final = 10**9
"""The numbers of one workload; the next one's begin behind them, so that people can tell them."""


def record_number(workload: int, count: int) -> int:
    """Return the number of a workload's ``count``-th record, from 0."""
    assert 0 <= count < RECORDS_PER_WORKLOAD
    return workload * RECORDS_PER_WORKLOAD + count


def key_of(record: int, keys: int) -> bytes | None:
    """Return the key of record number ``record`` where a workload has so many; 0: None.

    Every other key is used no more once its record without value is written: that is the last one
    then, and stays for as long as such records stay. The rest live on.
    """
    if not keys:
        return None
    number, life = record % keys, record // keys // _KEY_LIVES
    return f"key-{number}-{life}".encode() if number % 2 == 0 else f"key-{number}".encode()


def payload(record: int, size_bytes: int) -> bytes:
    """Return the value of record number ``record``; never shorter than ``SIZE_BYTES_MIN``."""
    filling_bytes = max(0, size_bytes - SIZE_BYTES_MIN)
    pattern = record.to_bytes(8, "little") + b"jbodlab "
    filling = (pattern * (filling_bytes // len(pattern) + 1))[:filling_bytes]
    return _NUMBER.pack(record, crc32c(filling, record & 0xFFFFFFFF)) + filling


def is_tombstone(record: int, keys: int) -> bool:
    """Tell whether a record has no value: each key is deleted at its every eighth record."""
    return keys > 0 and record // keys % _KEY_LIVES == _KEY_LIVES - 1


def tombstone_headers(record: int) -> Headers:
    """Return the headers of a record without value, which name it."""
    return ((_HEADER, payload(record, SIZE_BYTES_MIN)),)


def number_of(value: Buffer | None, headers: Headers = ()) -> int:
    """Return the number of the record with this value; ``UNREADABLE`` when a byte was changed.

    ``headers`` are those of a record without value.
    """
    if value is None:
        value = dict(headers).get(_HEADER)
    if value is None or len(value) < SIZE_BYTES_MIN:
        return UNREADABLE
    record: int = _NUMBER.unpack_from(value)[0]
    return record if bytes(value) == payload(record, len(value)) else UNREADABLE
