"""Which records of an answered Fetch a consumer that reads committed records leaves out.

Source: CompletedFetch.java, ``nextFetchedRecord`` and ``consumeAbortedTransactionsUpTo``.
"""

from __future__ import annotations

from collections.abc import Iterable

from protocol.messages.fetch import AbortedTransaction
from protocol.ports import Buffer
from protocol.records.batch import BatchHeader
from protocol.records.records import ControlRecordType, control_type, iterate_records


class AbortedRecords:
    """Of one partition of one answer; told of its batches in the order of their offsets."""

    def __init__(self, transactions: Iterable[AbortedTransaction] | None) -> None:
        """``transactions``: those that the answer names; None: records of all are wanted."""
        self._coming = sorted(transactions or (), key=lambda each: each.first_offset, reverse=True)
        self._open: dict[int, None] = {}

    def leave_out(self, data: Buffer, position: int, header: BatchHeader) -> bool:
        """Tell whether the records of the next batch, at ``position``, are left out.

        Raises:
            Malformed: it is a control batch that cannot be read.
        """
        while self._coming and self._coming[-1].first_offset <= header.last_offset:
            self._open[self._coming.pop().producer_id] = None
        if header.is_control:
            record = next(iter(iterate_records(data, position, header)), None)
            if record is not None and control_type(record) is ControlRecordType.ABORT:
                self._open.pop(header.producer_id, None)
            return True
        return header.is_transactional and header.producer_id in self._open
