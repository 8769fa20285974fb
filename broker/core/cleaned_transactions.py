"""Which batches of aborted transactions, and which markers, compaction may discard.

Fed with every batch of a log in order; it holds no records.

Source: LogCleaner.scala CleanedTransactionMetadata.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

from protocol.records.batch import BatchHeader
from protocol.records.records import ControlRecordType


class Aborted(Protocol):
    """An entry of a transaction index."""

    @property
    def producer_id(self) -> int:
        """Whose transaction it was."""
        ...

    @property
    def first_offset(self) -> int:
        """Where the transaction began."""
        ...


A = TypeVar("A", bound=Aborted)


class CleanedTransactions(Generic[A]):
    """The transactions that are open at the batch read last, as far as it matters."""

    __slots__ = ("_aborted", "_committed", "_number", "_seen", "_upcoming", "kept")

    def __init__(self) -> None:
        self._upcoming: list[tuple[int, int, A]] = []
        self._number = 0
        self._aborted: dict[int, A] = {}
        self._seen: dict[int, None] = {}
        """Producers of ``_aborted`` of which a batch was met."""
        self._committed: dict[int, None] = {}
        self.kept: list[A] = []
        """Aborted transactions of which data was met: the new transaction index needs them."""

    def expect(self, aborted: Iterable[A]) -> None:
        """Take the aborted transactions that touch the offsets to come; repeats are harmless."""
        for transaction in aborted:
            self._number += 1
            heapq.heappush(self._upcoming, (transaction.first_offset, self._number, transaction))

    def read_data(self, header: BatchHeader) -> bool:
        """Take a batch of records; True when its transaction was aborted."""
        self._begin(header.last_offset)
        if not header.is_transactional:
            return False
        if header.producer_id in self._aborted:
            self._seen[header.producer_id] = None
            return True
        self._committed[header.producer_id] = None
        return False

    def read_marker(self, header: BatchHeader, control: ControlRecordType | None) -> bool:
        """Take a control batch; True when nothing of its transaction was met, so that it may go.

        ``control`` is None for a batch that was emptied before.
        """
        self._begin(header.last_offset)
        producer_id = header.producer_id
        if control is None:
            return True
        if control is ControlRecordType.COMMIT:
            was_met = producer_id in self._committed
            self._committed.pop(producer_id, None)
            return not was_met
        if control is not ControlRecordType.ABORT:
            return False
        ended = self._aborted.pop(producer_id, None)
        if ended is None or producer_id not in self._seen:
            return True
        del self._seen[producer_id]
        self.kept.append(ended)
        return False

    def _begin(self, offset: int) -> None:
        """Open the aborted transactions that begin up to ``offset``."""
        while self._upcoming and self._upcoming[0][0] <= offset:
            transaction = heapq.heappop(self._upcoming)[2]
            self._aborted.setdefault(transaction.producer_id, transaction)
