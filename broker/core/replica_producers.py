"""The producers of a replica that is online: their states, and what readers may see of them.

The states as the files know them, for snapshots, are the log dir's own.
Source: ProducerStateManager.java, UnifiedLog.scala fetchLastStableOffsetMetadata.
"""

from __future__ import annotations

from collections.abc import Iterable

from broker.core.producers import ProducerStates
from broker.core.transactions import EndedTransaction, EndedTransactions
from protocol.ids import NO_OFFSET
from protocol.ports import Buffer
from protocol.records.batch import BatchHeader


class ReplicaProducers:
    """Counts every append whose offsets are given, written or not."""

    __slots__ = ("_reopened", "ended", "states")

    def __init__(self, states: ProducerStates | None = None, log_end_offset: int = 0) -> None:
        """Take over ``states`` as of ``log_end_offset``."""
        self.states = ProducerStates() if states is None else states
        self.ended = EndedTransactions(log_end_offset)
        self._reopened = NO_OFFSET
        """Where the first transaction begins whose marker was cut off, until ``reload``."""

    def last_stable_offset(self, high_watermark: int, log_start_offset: int) -> int:
        """Return the offset before which no transaction is open and every ending is replicated."""
        first_open = self.states.first_open_offset
        first_ended = self.ended.first_unreplicated_offset(high_watermark)
        if first_open < 0 and first_ended < 0 and self._reopened < 0:
            return high_watermark
        firsts = (first_open, first_ended, self._reopened)
        unstable = min(offset for offset in firsts if offset >= 0)
        return min(max(unstable, log_start_offset), high_watermark)

    def transaction_ended(self, ended: EndedTransaction | None, high_watermark: int) -> None:
        """Note what a marker ended that was given its offset; None: nothing was open."""
        if ended is not None:
            self.ended.add(ended, high_watermark)

    def note_replicated(
        self,
        batches: Iterable[BatchHeader],
        records: Buffer,
        *,
        high_watermark: int,
        now_ms: int,
    ) -> None:
        """Note fetched ``batches``, which lie one behind the other from the start of ``records``.

        ``now_ms`` is wall-clock time.

        Raises:
            Malformed: a control batch cannot be read.
        """
        position = 0
        for header in batches:
            if header.producer_id >= 0:
                ended = self.states.note(header, records, position, now_ms=now_ms)
                self.transaction_ended(ended, high_watermark)
            position += header.size_bytes

    def truncate_from_end(self, offset: int) -> None:
        """Forget what is at ``offset`` or beyond, as far as memory goes; ``reload`` follows.

        Readers who come before that see nothing of a transaction that is open again.
        """
        self.states.truncate_from_end(offset)
        firsts = [one for one in (self._reopened, self.ended.truncate_from_end(offset)) if one >= 0]
        first = min(firsts, default=NO_OFFSET)
        self._reopened = first if first < offset else NO_OFFSET

    def reload(self, states: ProducerStates) -> None:
        """Take over what was read from the log after it was cut. Nothing was appended since."""
        self.states = states
        self._reopened = NO_OFFSET

    def restart_at(self, offset: int) -> None:
        """Forget all: the log was emptied and goes on at ``offset``."""
        self.states.clear()
        self._reopened = NO_OFFSET
        self.ended.restart_at(offset)
