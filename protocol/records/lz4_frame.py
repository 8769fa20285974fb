"""LZ4 frames in the form Kafka's clients use: 64 KiB blocks that stand alone, no block checksums.

Readers in Java refuse blocks that lean on earlier ones, which LZ4 libraries write by default.
Frames inside record format 0 have a wrong header checksum: it covers the four bytes of LZ4's magic
number too (KAFKA-3160). Decompression is not here.

Source: Lz4BlockOutputStream.java, Lz4BlockInputStream.java.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

import cramjam

from protocol.errors import Malformed
from protocol.ports import Buffer

BLOCK_BYTES: Final = 64 * 1024

_LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
_FLAGS_AND_BLOCK_SIZE: Final = b"\x60\x40"
_OLD_CHECKSUM: Final = 0x1A
"""Of the magic number and the two bytes above."""
_CONTENT_SIZE_BIT: Final = 0b0000_1000
_CONTENT_SIZE_BYTES: Final = 8
_HEADER_BYTES: Final = 7
"""Without a content size, which Kafka's writers leave out."""
_END_MARK: Final = bytes(4)
_BLOCK_LENGTH: Final = Struct("<I")
_NOT_COMPRESSED_BIT: Final = 0x8000_0000
_MASK: Final = 0xFFFF_FFFF


def write_frame(data: Buffer, *, has_old_checksum: bool = False) -> bytes:
    """Return ``data`` as one frame; ``has_old_checksum`` is for record format 0."""
    checksum = _OLD_CHECKSUM if has_old_checksum else header_checksum(_FLAGS_AND_BLOCK_SIZE)
    parts: list[Buffer] = [_LZ4_MAGIC, _FLAGS_AND_BLOCK_SIZE, bytes((checksum,))]
    view = memoryview(data)
    for start in range(0, len(view), BLOCK_BYTES):
        block = view[start : start + BLOCK_BYTES]
        packed = bytes(cramjam.lz4.compress_block(block, store_size=False))
        if len(packed) < len(block):
            parts += (_BLOCK_LENGTH.pack(len(packed)), packed)
        else:
            parts += (_BLOCK_LENGTH.pack(len(block) | _NOT_COMPRESSED_BIT), block)
    parts.append(_END_MARK)
    return b"".join(parts)


def with_right_checksum(frame: Buffer) -> bytes:
    """Return a frame of record format 0, whose header checksum may be anything, as LZ4 wants it.

    Raises:
        Malformed: too short for a frame's header.
    """
    if len(frame) < _HEADER_BYTES:
        raise Malformed(f"lz4 frame of {len(frame)} bytes, a header has {_HEADER_BYTES}")
    flags, block_size = frame[4], frame[5]
    behind_header = _HEADER_BYTES
    if flags & _CONTENT_SIZE_BIT:
        flags -= _CONTENT_SIZE_BIT
        behind_header += _CONTENT_SIZE_BYTES
    descriptor = bytes((flags, block_size))
    return b"".join(
        (frame[:4], descriptor, bytes((header_checksum(descriptor),)), frame[behind_header:])
    )


def header_checksum(descriptor: bytes) -> int:
    """Return the second byte of the XXH32 of ``descriptor``, which has less than four bytes.

    Source: the LZ4 frame format, the xxHash specification.
    """
    assert len(descriptor) < 4, "longer input is hashed in lanes, which is not written here"
    value = 374761393 + len(descriptor)
    for byte in descriptor:
        value = (value + byte * 374761393) & _MASK
        value = (value << 11 | value >> 21) * 2654435761 & _MASK
    value = (value ^ value >> 15) * 2246822519 & _MASK
    value = (value ^ value >> 13) * 3266489917 & _MASK
    return (value ^ value >> 16) >> 8 & 0xFF
