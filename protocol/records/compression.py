"""The five codecs of records, as Kafka's clients frame them. It knows nothing of batches.

Source: org.apache.kafka.common.compress; snappy in the stream framing of xerial's snappy-java.
"""

from __future__ import annotations

from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from struct import Struct
from typing import Any, Final

import cramjam

from protocol.errors import Malformed
from protocol.ports import Buffer
from protocol.records.batch import MAGIC, Compression
from protocol.records.lz4_frame import with_right_checksum, write_frame

OUTPUT_BYTES_MAX: Final = 64 * 1024 * 1024
"""What one batch may become, against decompression bombs."""
CONVERTED_BYTES_MAX: Final = 32 * 1024 * 1024
"""The same where all of it is written anew beside what was read."""

_MAPPED_BYTES_MIN: Final = 1024 * 1024
"""Less is copied, so that a page is not kept for a few bytes of it."""
_XERIAL_HEADER: Final = b"\x82SNAPPY\x00" + Struct(">ii").pack(1, 1)
_XERIAL_MAGIC: Final = _XERIAL_HEADER[:8]
_XERIAL_BLOCK_BYTES: Final = 32 * 1024
_BLOCK_LENGTH: Final = Struct(">i")
_SNAPPY_RATIO_MAX: Final = 64
"""More than three bytes, the shortest copy of 64, can ever become."""


def compress(
    codec: Compression, data: Buffer, *, magic: int = MAGIC, level: int | None = None
) -> Buffer:
    """Return ``data`` as ``codec`` writes it into records of format ``magic``.

    ``level`` is that of gzip or zstd (None: the library's own); the others have none here.
    """
    match codec:
        case Compression.NONE:
            return data
        case Compression.SNAPPY:
            return _compress_xerial(data)
        case Compression.GZIP:
            return bytes(cramjam.gzip.compress(data, level=level))
        case Compression.LZ4:
            return write_frame(data, has_old_checksum=magic == 0)
        case Compression.ZSTD:
            return bytes(cramjam.zstd.compress(data, level=level))


def decompress(
    codec: Compression,
    data: Buffer,
    *,
    magic: int = MAGIC,
    output_bytes_max: int = OUTPUT_BYTES_MAX,
) -> Buffer:
    """Return what ``data`` held before compression; ``data`` itself for NONE.

    Raises:
        Malformed: ``data`` is not of that codec, is cut, or becomes more than ``output_bytes_max``.
    """
    match codec:
        case Compression.NONE:
            return data
        case Compression.SNAPPY:
            return _decompress_snappy(data, output_bytes_max)
        case Compression.GZIP:
            return _decompress_into(cramjam.gzip, data, output_bytes_max)
        case Compression.LZ4:
            frame = with_right_checksum(data) if magic == 0 else data
            return _decompress_into(cramjam.lz4, frame, output_bytes_max)
        case Compression.ZSTD:
            return _decompress_into(cramjam.zstd, data, output_bytes_max)


# cramjam's modules share functions but no type.
def _decompress_into(module: Any, data: Buffer, output_bytes_max: int) -> Buffer:
    output = _mapped(output_bytes_max)
    try:
        size_bytes: int = module.decompress_into(data, output)
        if size_bytes < _MAPPED_BYTES_MIN:
            return output[:size_bytes]
        return memoryview(output)[:size_bytes]  # And gets them back with the last view.
    except (cramjam.DecompressionError, OSError, ValueError) as error:
        output.close()  # Whoever keeps what is raised keeps this frame, too.
        raise Malformed(f"{len(data)} compressed bytes cannot be read: {error}") from error


def _mapped(size_bytes: int) -> mmap:
    """Return memory whose pages the system gives only as they are written: its size costs nothing.

    Raises:
        Malformed: there is no room for it. It is no error of a disk, as an OSError would be.
    """
    try:
        return mmap(-1, size_bytes, flags=MAP_PRIVATE | MAP_ANONYMOUS)
    except OSError as error:
        raise Malformed(f"no memory to decompress up to {size_bytes} bytes: {error}") from error


def _compress_xerial(data: Buffer) -> bytes:
    view = memoryview(data)
    parts: list[Buffer] = [_XERIAL_HEADER]
    for start in range(0, len(view), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _XERIAL_BLOCK_BYTES]))
        parts += (_BLOCK_LENGTH.pack(len(block)), block)
    return b"".join(parts)


def _decompress_snappy(data: Buffer, output_bytes_max: int) -> Buffer:
    view = memoryview(data)
    if bytes(view[:8]) != _XERIAL_MAGIC:
        return _decompress_block(view, output_bytes_max)
    output = bytearray()
    position = len(_XERIAL_HEADER)
    while position < len(view):
        if len(view) - position < 4:
            raise Malformed("snappy stream is cut inside a block length")
        length: int = _BLOCK_LENGTH.unpack_from(view, position)[0]
        position += 4
        if not 0 <= length <= len(view) - position:
            raise Malformed(f"snappy block of {length} bytes in {len(view) - position} bytes")
        output += _decompress_block(
            view[position : position + length], output_bytes_max - len(output)
        )
        position += length
    return output


def _decompress_block(block: memoryview, output_bytes_max: int) -> bytes:
    try:
        size_bytes = cramjam.snappy.decompress_raw_len(block)
        size_bytes_max = min(output_bytes_max, len(block) * _SNAPPY_RATIO_MAX)
        if size_bytes > size_bytes_max:
            raise Malformed(f"snappy block becomes {size_bytes} bytes, over {size_bytes_max}")
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise Malformed(f"snappy block of {len(block)} bytes cannot be read: {error}") from error
