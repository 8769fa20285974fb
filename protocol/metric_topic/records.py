"""What waits to be written to the metrics topic, and what an answer to a batch of it means.

One batch is under way at a time, until it is known what became of it: so an idempotent producer
keeps its order, and every record is there once. What then finds no room is dropped.
Source: Sender.completeBatch and TransactionManager.canRetry of the Java producer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from enum import Enum, auto
from typing import Final

from protocol.errors import ErrorCode
from protocol.records.build import NewRecord

WAITING_BYTES_MAX: Final = 4 << 20
BATCH_BYTES_MAX: Final = 64 << 10
"""Before compression, which then takes about a millisecond; far below ``max.message.bytes``."""
_OVERHEAD_BYTES: Final = 32
"""Of a record beside its key and value, at most."""
_ARE_THERE: Final = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
_PRODUCER_IS_UNKNOWN: Final = (
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.INVALID_PRODUCER_EPOCH,
)
_ARE_REFUSED: Final = (
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.INVALID_RECORD,
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
)
"""Whatever the broker is asked again, it will say so again."""


class BatchFate(Enum):
    """What becomes of the batch that is under way."""

    WRITTEN = auto()
    REFUSED = auto()
    """For good: its records are lost."""
    AGAIN = auto()
    AGAIN_BY_ANOTHER_PRODUCER = auto()


class MetricRecords:
    """The records that wait, at most ``bytes_max`` of them, and the batch that is under way."""

    def __init__(self, bytes_max: int = WAITING_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._waiting: deque[NewRecord] = deque()
        self._waiting_bytes = 0
        self._under_way: list[NewRecord] = []
        self.base_sequence = 0
        """Of the batch that is under way."""

    def __len__(self) -> int:
        return len(self._waiting) + len(self._under_way)

    def offer(self, records: Sequence[NewRecord]) -> int:
        """Take records, the first first; return how many there was no room for."""
        for taken, record in enumerate(records):
            size_bytes = _size_bytes(record)
            if self._waiting_bytes + size_bytes > self._bytes_max:
                return len(records) - taken
            self._waiting.append(record)
            self._waiting_bytes += size_bytes
        return 0

    def batch(self) -> Sequence[NewRecord]:
        """Return the batch that is under way, else the next one; empty when nothing waits."""
        size_bytes = 0
        while self._waiting and not (self._under_way and size_bytes == 0):
            next_bytes = _size_bytes(self._waiting[0])
            if self._under_way and size_bytes + next_bytes > BATCH_BYTES_MAX:
                break
            self._under_way.append(self._waiting.popleft())
            self._waiting_bytes -= next_bytes
            size_bytes += next_bytes
        return self._under_way

    def answered(self, code: ErrorCode) -> BatchFate:
        """Take what the leader said of the batch, or what kept it from being asked."""
        if code in _ARE_THERE:
            self.base_sequence += len(self._under_way)
            self._under_way = []
            return BatchFate.WRITTEN
        if code in _ARE_REFUSED:
            self._under_way = []
            return BatchFate.REFUSED
        if code in _PRODUCER_IS_UNKNOWN:
            self.base_sequence = 0
            return BatchFate.AGAIN_BY_ANOTHER_PRODUCER
        return BatchFate.AGAIN


def _size_bytes(record: NewRecord) -> int:
    return len(record.key or b"") + len(record.value or b"") + _OVERHEAD_BYTES
