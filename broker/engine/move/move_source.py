"""What a move reads of the log that it copies, beside what clients wait for.

The log's own thread only finds where batches stand. When that is not so any more, it reads them.
"""

from __future__ import annotations

from functools import partial

from broker.engine.replica import Replica
from broker.storage.log_extents import Piece, find_pieces, read_piece
from broker.storage.log_reader import LogRead


class MoveSource:
    """The current log of one replica, for one step of a move.

    Whoever reads looks after each wait whether the log was cut meanwhile, and throws away then both
    what was read and the source.
    """

    def __init__(self, replica: Replica, read_bytes: int, step_bytes: int) -> None:
        """``read_bytes`` come at once, ``step_bytes`` in all; a larger batch comes whole."""
        self._replica = replica
        self._read_bytes = read_bytes
        self._step_bytes = step_bytes
        self._found: list[Piece] = []
        self._next_offset = -1

    async def read(self, offset: int) -> LogRead:
        """Read what follows; nothing when there is none, or when it was deleted by now.

        Then the next step begins in range again.
        Source: AbstractFetcherThread.scala handleOutOfRangeError.

        Raises:
            LogDirFailed: the log's dir failed.
            KafkaError: CORRUPT_MESSAGE.
        """
        if offset != self._next_offset:
            self._found = []
        read = await self._read_beside(offset) if self._has(offset) else None
        if read is None:
            self._found = []
            if not self._has(offset):
                return LogRead((), 0, offset)
            up_to = self._replica.partition.log_end_offset
            job = partial(self._replica.log.files.read, offset, self._read_bytes, up_to=up_to)
            read = await self._replica.log.queue.submit("read for move", job)
        self._next_offset = read.next_offset
        return read

    def _has(self, offset: int) -> bool:
        partition = self._replica.partition
        return partition.log_start_offset <= offset < partition.log_end_offset

    async def _read_beside(self, offset: int) -> LogRead | None:
        """Read by what was found before, or now; None when that leads to nothing."""
        log, log_dir = self._replica.log.files, self._replica.log.dir
        if not self._found:
            up_to = self._replica.partition.log_end_offset
            job = partial(find_pieces, log, offset, up_to, self._read_bytes, self._step_bytes)
            self._found = await log_dir.queue.submit("look for batches to move", job)
        if not self._found:
            return None
        background_queue = log_dir.background_queue
        piece = self._found.pop(0)
        return await background_queue.submit(
            "read for move", partial(read_piece, background_queue.disk, piece)
        )
