"""Zig-zag varints as record fields use them. The unsigned ones of flexible messages are not here.

Source: ByteUtils.java.
"""

from __future__ import annotations

from protocol.errors import Malformed
from protocol.ports import Buffer


def read_varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """Return the value at ``position`` and the position after it.

    Raises:
        Malformed: it is cut or longer than 10 bytes.
    """
    value = shift = 0
    try:
        while (byte := buffer[position]) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            position += 1
            if shift > 63:
                raise Malformed("varint longer than 10 bytes")
    except IndexError:
        raise Malformed(f"varint is cut at {len(buffer)} bytes") from None
    value |= byte << shift
    return (value >> 1) ^ -(value & 1), position + 1


def append_varint(output: bytearray, value: int) -> None:
    """Write ``value`` (of at most 64 bits) at the end of ``output``."""
    encoded = (value << 1) ^ (value >> 63)
    while encoded > 0x7F:
        output.append(encoded & 0x7F | 0x80)
        encoded >>= 7
    output.append(encoded)
