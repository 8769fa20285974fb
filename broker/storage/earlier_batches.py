"""What a producer snapshot leaves out: it names each producer's last batch, and its log has more.

A client may have five requests in flight, and repeats those whose answers it missed. Kafka answers
OUT_OF_ORDER_SEQUENCE_NUMBER to all but the last one then, which ends the producer for good; here
the batches are read back from the log. How far is bounded: what is not found is as in Kafka.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from broker.core.producers import ProducerStates
from broker.storage.batch_scan import CorruptBatch, scan_headers
from broker.storage.segment import Segment
from protocol.records.batch import BatchHeader

_LOGGER = logging.getLogger(__name__)
ENTRIES: Final = (64, 512)
"""How many entries of offset indexes to go back: first, and while producers lack batches.

An entry stands for `index.interval.bytes` (4 KiB), or for one batch where batches are larger.
"""
HEADERS_MAX: Final = 4096
"""About how many batches are looked at when it goes back further: small ones are many."""
SPAN_BYTES_MAX: Final = 64 << 20
"""However few entries there are."""
_CHUNK_BYTES: Final = 64 << 10


def recall_batches(segments: Sequence[Segment], offset: int, producers: ProducerStates) -> None:
    """Read back the batches before ``offset`` that ``producers``, as of there, do not know.

    A batch that cannot be read ends it: who needs that one will meet it, and not whoever starts.

    Raises:
        OSError: the log dir is lost.
    """
    before = [one for one in segments if one.base_offset < offset and one.size_bytes > 0]
    if not before or not producers.lacks_batches(0):
        return
    try:
        headers = headers_before(before, offset, ENTRIES[0])
        producers.recall(headers)
        if headers and producers.lacks_batches(headers[0].base_offset):
            entries_max = min(ENTRIES[1], ENTRIES[0] * HEADERS_MAX // len(headers))
            producers.recall(headers_before(before, offset, entries_max))
    except CorruptBatch as exc:
        _LOGGER.warning("%s: %s: batches not recalled", before[-1].directory.name, exc)


def headers_before(segments: Sequence[Segment], offset: int, entries_max: int) -> list[BatchHeader]:
    """Return the headers of the last batches before ``offset``, in order."""
    headers: list[BatchHeader] = []
    left, span_bytes = entries_max, SPAN_BYTES_MAX
    for segment in reversed(segments):
        index = segment.offset_index
        count = index.count_before(offset)
        end = segment.size_bytes if count == len(index) else index.entry(count).position
        start = index.entry(count - left).position if count >= left else 0
        boundary = index.boundary_after(end - span_bytes)
        start = max(start, end if boundary is None else boundary)
        found = [
            header
            for _, header in scan_headers(segment.file(), start, end, chunk_bytes=_CHUNK_BYTES)
            if header.base_offset < offset
        ]
        headers[:0] = found
        left -= count + 1
        span_bytes -= end - start
        if left <= 0 or start > 0:
            break
    return headers
