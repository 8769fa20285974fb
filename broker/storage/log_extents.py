"""Where batches stand in a file of a log, and reading them there on another thread: for moves.

The log's own thread finds them. The log may be cut or lose files before they are read: what does
not look as it was found is not given then, and the log's own thread has to be asked.
"""

from __future__ import annotations

from typing import NamedTuple

from broker.storage.batch_scan import CorruptBatch
from broker.storage.indexes import OffsetIndex
from broker.storage.layout import LOG_SUFFIX
from broker.storage.log_reader import LogRead, bounds, last_whole, segment_number
from broker.storage.partition_log import PartitionLog
from protocol.errors import Malformed
from protocol.ports import Disk


class Piece(NamedTuple):
    """Whole batches of one file that are read together."""

    file_name: str
    """The disk's name of the file, as long as the log is not renamed."""
    position: int
    size_bytes: int
    tail: int
    """Where one of its last batches begins: its end is found without a walk over all of them."""
    next_offset: int | None
    """Where to read on behind a gap; None: behind its last batch."""


def find_pieces(
    log: PartitionLog, offset: int, up_to: int, piece_bytes: int, max_bytes: int
) -> list[Piece]:
    """Find the batches from the one that holds ``offset`` on and before ``up_to``, in one segment.

    On the log's own thread. None is larger than ``piece_bytes``, all together about ``max_bytes``.
    Nothing is found where the index does not tell, or what stands there is no batch: a read has to
    look.

    Raises:
        OSError: a file is shorter than what was written.
    """
    end = min(up_to, log.log_end_offset)
    if not log.log_start_offset <= offset < end:
        return []
    try:
        return _pieces(log, offset, end, piece_bytes, max_bytes)
    except CorruptBatch:
        return []


def _pieces(
    log: PartitionLog, offset: int, end: int, piece_bytes: int, max_bytes: int
) -> list[Piece]:
    number = segment_number(log.segments, offset)
    segment = log.segments[number]
    segment_end, limit = bounds(log.segments, number, end, log.log_end_offset)
    found = segment.locate(offset)
    if found is None:
        return []
    index, name = segment.offset_index, segment.files.name(LOG_SUFFIX)
    pieces: list[Piece] = []
    position = found[0]
    while position < min(limit, found[0] + max_bytes):
        stop = _stop(index, position, limit, piece_bytes)
        if stop <= position:
            break
        tail = max(position, index.boundary_before(stop - 1))
        next_offset = min(segment_end, end) if stop == limit else None
        pieces.append(Piece(name, position, stop - position, tail, next_offset))
        position = stop
    return pieces


def _stop(index: OffsetIndex, position: int, limit: int, size_bytes: int) -> int:
    if limit - position <= size_bytes:
        return limit
    return index.boundary_before(position + size_bytes)


def read_piece(disk: Disk, piece: Piece) -> LogRead | None:
    """Read what was found; None when it does not stand there any more.

    Raises:
        OSError: the disk is broken; a missing file or a short one is not that, here.
    """
    try:
        file = disk.open(piece.file_name, create=False)
    except FileNotFoundError:
        return None
    try:
        data = file.read(piece.position, piece.size_bytes)
    finally:
        file.close()
    try:
        found = last_whole(data, piece.tail - piece.position)
    except Malformed:
        return None
    if found is None or found[0] != piece.size_bytes:
        return None
    next_offset = found[1] if piece.next_offset is None else piece.next_offset
    return LogRead((data,), len(data), next_offset)
