"""Whether the indexes of a segment can be believed; what cannot is built anew. Changes nothing.

Source: OffsetIndex.sanityCheck, TransactionIndex.sanityCheck.
"""

from __future__ import annotations

from typing import Final

from broker.storage.batch_scan import CorruptBatch, scan_headers
from broker.storage.indexes import CorruptIndex, OffsetIndex
from protocol.ports import DiskFile

_HEADER_CHUNK_BYTES: Final = 61


def check_last_entry(index: OffsetIndex, file: DiskFile, size_bytes: int) -> None:
    """Check that the last entry points to a batch of ``file`` that it can mean.

    Kafka's entries tell the last offset of a whole append, so the batch may end before it.

    Raises:
        CorruptIndex: it points behind ``size_bytes``, to no batch or to a later one.
    """
    last = index.last
    if last is None:
        return
    if not 0 <= last.position < size_bytes:
        raise CorruptIndex(f"{last} in a segment of {size_bytes} bytes")
    try:
        headers = scan_headers(file, last.position, size_bytes, chunk_bytes=_HEADER_CHUNK_BYTES)
        _, header = next(headers)
    except CorruptBatch as exc:
        raise CorruptIndex(f"{last} points to no batch") from exc
    if header.base_offset > last.offset:
        raise CorruptIndex(f"{last} points to offset {header.base_offset}")
