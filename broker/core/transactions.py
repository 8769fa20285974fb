"""Transactions as one log sees them: the markers that end them, and what of them is stable.

It coordinates nothing. Open transactions are in `broker.core.producers`; those that ended long ago
are in the transaction indexes on disk.
Source: ProducerStateManager.java, TransactionIndex.java, UnifiedLog.scala
fetchLastStableOffsetMetadata, KIP-98.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter
from typing import Final, NamedTuple

from protocol.ids import NO_OFFSET
from protocol.ports import Buffer
from protocol.records.batch import BatchHeader
from protocol.records.build import build_end_marker
from protocol.records.records import (
    ControlRecordType,
    control_type,
    coordinator_epoch,
    iterate_records,
)

ABORTED_KEPT_MAX: Final = 1024
"""Per log; readers of older offsets ask the transaction index."""
_BY_LAST_OFFSET: Final = attrgetter("last_offset")


class EndMarker(NamedTuple):
    """What a coordinator writes to end a producer's transaction in one partition."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    is_commit: bool
    transaction_version: int = 0
    """From 2 on every transaction has an epoch of its own (KIP-890, KIP-1228)."""


class EndedTransaction(NamedTuple):
    """A transaction with data whose marker is in the log."""

    producer_id: int
    first_offset: int
    last_offset: int
    """That of the marker."""
    last_stable_offset: int
    """Where the oldest transaction began that was open then, or the offset after the marker."""
    is_aborted: bool


def build_marker(marker: EndMarker, now_ms: int) -> bytearray:
    """Return the control batch of ``marker``, to be stamped by the leader."""
    kind = ControlRecordType.COMMIT if marker.is_commit else ControlRecordType.ABORT
    return build_end_marker(
        kind,
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        coordinator_epoch=marker.coordinator_epoch,
        timestamp_ms=now_ms,
    )


def read_marker(header: BatchHeader, buffer: Buffer, position: int) -> EndMarker | None:
    """Read a control batch that lies whole at ``position``; None when it ends no transaction.

    Compaction may have left a batch without its record.

    Raises:
        Malformed: the record cannot be read.
    """
    record = next(iterate_records(buffer, position, header), None)
    if record is None:
        return None
    kind = control_type(record)
    if kind not in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
        return None
    return EndMarker(
        header.producer_id,
        header.producer_epoch,
        coordinator_epoch(record),
        kind is ControlRecordType.COMMIT,
    )


class EndedTransactions:
    """The newest ended transactions of one log: all that are not replicated yet, and aborted ones.

    They come in the order of their markers.
    """

    __slots__ = ("_aborted", "_known_from", "_unreplicated")

    def __init__(self, log_end_offset: int = 0) -> None:
        """Begin at ``log_end_offset``: what ended before it is not known here."""
        self._known_from = log_end_offset
        self._unreplicated: list[EndedTransaction] = []
        self._aborted: list[EndedTransaction] = []

    def add(self, ended: EndedTransaction, high_watermark: int) -> None:
        """Note a transaction whose marker was appended."""
        self.first_unreplicated_offset(high_watermark)
        self._unreplicated.append(ended)
        if not ended.is_aborted:
            return
        aborted = self._aborted
        aborted.append(ended)
        if len(aborted) > ABORTED_KEPT_MAX:
            half = ABORTED_KEPT_MAX // 2
            self._known_from = aborted[half - 1].last_offset + 1
            del aborted[:half]

    def first_unreplicated_offset(self, high_watermark: int) -> int:
        """Return where the first transaction begins whose marker is not before ``high_watermark``.

        -1 without one. Those before it are forgotten: the high watermark never falls, but by
        ``truncate_from_end``.
        """
        waiting = self._unreplicated
        if not waiting:
            return NO_OFFSET
        done = bisect_left(waiting, high_watermark, key=_BY_LAST_OFFSET)
        if done:
            del waiting[:done]
        return min((ended.first_offset for ended in waiting), default=NO_OFFSET)

    def aborted_between(self, start: int, end: int) -> tuple[EndedTransaction, ...] | None:
        """Return the aborted ones that touch ``start`` up to ``end``; None: ask the disk."""
        if start < self._known_from:
            return None
        aborted = self._aborted
        first = bisect_left(aborted, start, key=_BY_LAST_OFFSET)
        return tuple(ended for ended in aborted[first:] if ended.first_offset < end)

    def truncate_from_end(self, offset: int) -> int:
        """Forget those whose marker is at ``offset`` or beyond; return where the first one begins.

        -1 without one.
        """
        firsts: list[int] = []
        for known in (self._unreplicated, self._aborted):
            kept = bisect_left(known, offset, key=_BY_LAST_OFFSET)
            firsts += (ended.first_offset for ended in known[kept:])
            del known[kept:]
        self._known_from = min(self._known_from, offset)
        return min(firsts, default=NO_OFFSET)

    def restart_at(self, offset: int) -> None:
        """Forget all: the log was emptied and goes on at ``offset``."""
        self._unreplicated.clear()
        self._aborted.clear()
        self._known_from = offset
