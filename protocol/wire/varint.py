"""Unsigned varints, runs of integers, and the refusals that generated code calls."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from protocol.errors import Malformed
from protocol.ports import Buffer

_KEPT_STRUCTS_MAX = 64
STRUCTS_MAX = 1_000_000
"""The longest array of structs or strings; five times the partitions that a cluster may have."""
FEW_LENGTH_MAX = 8
"""Up to this length on the wire, generated code reads integers by an unpack of its own."""


def read_varint(buf: Any, pos: int) -> tuple[int, int]:
    """Read an unsigned varint of at most five bytes at ``pos``; return it and the next position."""
    byte = buf[pos]
    if byte < 0x80:
        return byte, pos + 1
    value, shift = byte & 0x7F, 7
    while shift < 35:
        pos += 1
        byte = buf[pos]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, pos + 1
        shift += 7
    raise Malformed("varint longer than five bytes")


def read_length(buf: Any, pos: int) -> tuple[int, int]:
    """Read a compact length that must not be null; it stays one more than the size it tells."""
    length, pos = read_varint(buf, pos)
    if not length:
        refuse_null()
    return length, pos


def write_varint(out: bytearray, value: int) -> None:
    """Append an unsigned varint."""
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def refuse_null() -> NoReturn:
    """Refuse a null that was read where the field is not nullable."""
    raise Malformed("null where the field is not nullable")


def refuse_long(count: int, least_bytes: int, left_bytes: int) -> None:
    """Refuse an array of so many items of at least ``least_bytes`` where they cannot fit.

    Also one of more than ``STRUCTS_MAX``: reading it would keep the loop from all else for seconds.
    """
    if count * least_bytes > left_bytes:
        raise Malformed(f"array of {count} in {left_bytes} bytes")
    if count > STRUCTS_MAX:
        raise Malformed(f"array of {count}, at most {STRUCTS_MAX}")


@functools.cache
def few_integers_readers(code: str, added: int) -> list[Any]:
    """Return ``unpack_from`` by length on the wire, which is ``added`` more than the count."""
    counts = [max(0, length - added) for length in range(FEW_LENGTH_MAX + 1)]
    return [struct.Struct(f">{count}{code}").unpack_from for count in counts]


@functools.cache
def integers_reader(code: str) -> Callable[[Buffer, int, int], tuple[Sequence[Any], int]]:
    """Return ``read(buf, pos, count)`` of an array of fixed-size items: a list, () when empty."""
    size = struct.calcsize(">" + code)
    kept = [struct.Struct(f">{n}{code}").unpack_from for n in range(_KEPT_STRUCTS_MAX)]

    def read(buf: Buffer, pos: int, count: int) -> tuple[Sequence[Any], int]:
        if count < 0:
            refuse_null()
        if count == 0:
            return (), pos
        if count < _KEPT_STRUCTS_MAX:
            return [*kept[count](buf, pos)], pos + count * size
        if count * size > len(buf) - pos:
            raise Malformed(f"array of {count} in {len(buf) - pos} bytes")
        return [*struct.unpack_from(f">{count}{code}", buf, pos)], pos + count * size

    return read


@functools.cache
def integers_writer(code: str) -> Callable[[bytearray, Sequence[Any]], None]:
    """Return ``write(out, items)`` for the items of an array of fixed size."""
    kept = [struct.Struct(f">{n}{code}").pack for n in range(_KEPT_STRUCTS_MAX)]

    def write(out: bytearray, items: Sequence[Any]) -> None:
        count = len(items)
        out += (
            kept[count](*items)
            if count < _KEPT_STRUCTS_MAX
            else struct.pack(f">{count}{code}", *items)
        )

    return write
