"""Where one log stands: its offsets and leader epochs, and how they change together.

One set of rules for the log of a partition, whatever its role, and for the future log of a move. It
writes nothing: what has to be written of a change is what its method returns.
Source: UnifiedLog.scala, LeaderEpochFileCache.scala.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from broker.core.leader_epochs import EpochEntry, LeaderEpochs
from protocol.ids import NO_EPOCH
from protocol.records.batch import BatchHeader

EpochsToWrite: TypeAlias = "list[EpochEntry] | None"
"""All leader epochs of the log, for its directory; None: what stands there still holds."""


class RaisedStart(NamedTuple):
    """A log start offset that rose, to be noted in line with the appends around it."""

    log_start_offset: int
    epochs: list[EpochEntry]
    """To be written."""


class LogPositions:
    """The offsets of one log, each of them that of a record to come.

    ``next_offset`` is where the next append goes: it counts appends still on their way to the disk.
    ``log_end_offset`` counts only what is written. Both meet when the log dir's queue is empty.
    """

    __slots__ = ("epochs", "high_watermark", "log_end_offset", "log_start_offset", "next_offset")

    def __init__(self) -> None:
        """Begin with an empty log at offset 0."""
        self.log_start_offset = 0
        self.next_offset = 0
        self.log_end_offset = 0
        self.high_watermark = 0
        self.epochs = LeaderEpochs()

    def take_over(
        self,
        *,
        log_start_offset: int,
        log_end_offset: int,
        high_watermark: int,
        epochs: LeaderEpochs,
    ) -> None:
        """Go on where a log on disk ends; before anything is appended."""
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.next_offset = log_end_offset
        self.high_watermark = max(log_start_offset, min(high_watermark, log_end_offset))
        self.epochs = epochs

    @property
    def is_settled(self) -> bool:
        """Whether no append is on its way to the disk."""
        return self.next_offset == self.log_end_offset

    @property
    def is_untouched(self) -> bool:
        """Whether nobody ever appended anything, nor led or followed a leader of any epoch."""
        return self.next_offset == 0 and self.epochs.latest == NO_EPOCH

    def assign_offsets(self, end_offset: int) -> None:
        """Note that an append up to ``end_offset`` is on its way to the disk."""
        assert end_offset >= self.next_offset, f"append to {end_offset}, next is {self.next_offset}"
        self.next_offset = end_offset

    def appended(self, end_offset: int) -> None:
        """Note that the disk has all before ``end_offset``."""
        self.log_end_offset = max(self.log_end_offset, end_offset)

    def note_epochs(self, batches: Iterable[BatchHeader], begin_offset: int) -> EpochsToWrite:
        """Note the leader epochs of batches that are appended as another log has them.

        ``begin_offset`` is where the log ended before. An epoch begins where the batch before it
        ends, and not behind the gap that compaction left: what stood there may have been its own,
        and a log that has more of the epoch before must be cut there. Differs from Kafka.
        """
        changed = False
        before: BatchHeader | None = None
        for batch in batches:
            epoch = batch.partition_leader_epoch
            if epoch != self.epochs.latest and epoch >= 0:
                end_offset = begin_offset if before is None else before.next_offset
                changed |= self.epochs.assign(epoch, min(end_offset, batch.base_offset))
            before = batch
        return self._to_write(changed=changed)

    def forget_empty_epochs(self) -> EpochsToWrite:
        """Drop leader epochs that began at the end of the log and got no records.

        A leader notes its epoch before its first append; another leader knows nothing of it, and a
        log that kept it would be sent to truncate for ever. Source: UnifiedLog.scala truncateTo.
        An emptied log keeps the last one (``LeaderEpochs.forget_empty``): differs from Kafka.
        """
        changed = self.epochs.forget_empty(self.log_start_offset, self.next_offset)
        return self._to_write(changed=changed)

    def truncated(self, offset: int) -> EpochsToWrite:
        """Note that all from ``offset`` on is cut off, appends on their way included."""
        assert offset <= self.next_offset, f"cut to {offset}, the log ends at {self.next_offset}"
        self.next_offset = self.log_end_offset = offset
        self.high_watermark = min(self.high_watermark, offset)
        self.log_start_offset = min(self.log_start_offset, offset)
        return self._to_write(changed=self.epochs.truncate_from_end(offset))

    def restarted_at(self, offset: int) -> list[EpochEntry]:
        """Note that the log was emptied and goes on at ``offset``: no leader epoch is left."""
        self.next_offset = self.log_end_offset = self.log_start_offset = offset
        self.high_watermark = offset
        self.epochs.clear()
        return self.epochs.entries

    def raise_log_start(self, offset: int) -> RaisedStart | None:
        """Move the log start offset up, as far as the log goes; None: it stays where it is.

        The high watermark is never below it, and epochs before it are forgotten.
        """
        start = min(offset, self.log_end_offset)
        if start <= self.log_start_offset:
            return None
        self.log_start_offset = start
        self.high_watermark = max(self.high_watermark, start)
        self.epochs.truncate_from_start(start)
        return RaisedStart(start, self.epochs.entries)

    def _to_write(self, *, changed: bool) -> EpochsToWrite:
        return self.epochs.entries if changed else None
