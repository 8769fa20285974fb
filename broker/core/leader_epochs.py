"""Where each leader epoch of a log begins, and what that says about diverged logs.

It keeps entries in memory; storage writes them to ``leader-epoch-checkpoint``.
Source: LeaderEpochFileCache.scala, KIP-101, KIP-279.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from protocol.ids import NO_EPOCH, NO_OFFSET


class EpochEntry(NamedTuple):
    """One line of the checkpoint: the epoch's first offset in this log."""

    epoch: int
    start_offset: int


class EpochEnd(NamedTuple):
    """The largest known epoch not above the asked one, and the offset after its last record."""

    epoch: int
    end_offset: int


UNDEFINED_END = EpochEnd(NO_EPOCH, NO_OFFSET)
"""The answer when nothing is known about an epoch."""


class LeaderEpochs:
    """The epochs of one log, ascending both in epoch and in start offset."""

    __slots__ = ("_epochs", "_starts")

    def __init__(self, entries: Iterable[tuple[int, int]] = ()) -> None:
        self._epochs: list[int] = []
        self._starts: list[int] = []
        for epoch, start_offset in entries:
            self.assign(epoch, start_offset)

    @property
    def entries(self) -> list[EpochEntry]:
        """A copy, as the checkpoint holds it."""
        return [EpochEntry(*pair) for pair in zip(self._epochs, self._starts, strict=True)]

    @property
    def latest(self) -> int:
        """The newest epoch, -1 when there is none."""
        return self._epochs[-1] if self._epochs else NO_EPOCH

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Note that ``epoch`` begins at ``start_offset``; True when entries changed.

        Entries that contradict it go: those of this epoch or later ones, and those that begin at or
        after ``start_offset`` (so an epoch that got no records disappears).
        """
        assert epoch >= 0, f"leader epoch {epoch}"
        assert start_offset >= 0, f"start offset {start_offset}"
        if self._epochs and epoch == self._epochs[-1] and start_offset >= self._starts[-1]:
            return False
        keep = min(bisect_left(self._epochs, epoch), bisect_left(self._starts, start_offset))
        self._keep_first(keep)
        self._epochs.append(epoch)
        self._starts.append(start_offset)
        return True

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEnd:
        """Answer OffsetForLeaderEpoch: where ``epoch`` ends in a log up to ``log_end_offset``.

        An epoch above all known ones, or any epoch of an empty history, is undefined; one below the
        first, a negative one too, gets its own number back with the first start offset.
        """
        if epoch == NO_EPOCH or not self._epochs or epoch > self._epochs[-1]:
            return UNDEFINED_END
        above = bisect_right(self._epochs, epoch)
        end_offset = self._starts[above] if above < len(self._starts) else log_end_offset
        return EpochEnd(self._epochs[above - 1] if above else epoch, end_offset)

    def epoch_at(self, offset: int) -> int:
        """Return the epoch of the record at ``offset``, -1 when that is before the history."""
        index = bisect_right(self._starts, offset) - 1
        return self._epochs[index] if index >= 0 else NO_EPOCH

    def truncate_from_end(self, offset: int) -> bool:
        """Forget what begins at or after ``offset``; True when entries changed."""
        return self._keep_first(bisect_left(self._starts, max(offset, 0)))

    def truncate_from_start(self, offset: int) -> bool:
        """Forget what lies before ``offset``; the epoch that holds it now begins there."""
        index = bisect_right(self._starts, offset) - 1
        if index < 0 or (index == 0 and self._starts[0] == offset):
            return False
        del self._epochs[:index]
        del self._starts[:index]
        self._starts[0] = offset
        return True

    def forget_empty(self, log_start_offset: int, log_end_offset: int) -> bool:
        """Forget what begins at the end of a log and has no records; True when entries changed.

        A log of which all records were deleted keeps the epoch that it ended in, at its end: its
        leader is to tell where the two part. Without one it would be followed from there, though
        its leader has lost what was there, and has other records before (seed 1156807). Differs
        from Kafka, which forgets it.
        """
        is_emptied = 0 < log_start_offset == log_end_offset
        return self.truncate_from_end(log_end_offset + is_emptied)

    def clear(self) -> bool:
        """Forget everything; True when there was something."""
        return self._keep_first(0)

    def _keep_first(self, count: int) -> bool:
        changed = count < len(self._epochs)
        del self._epochs[count:]
        del self._starts[count:]
        return changed


def taken_over(
    own: Iterable[EpochEntry], known: LeaderEpochs, *, start_offset: int, end_offset: int
) -> LeaderEpochs:
    """Return the epochs of a log that takes the place of another one, from start to end.

    Its batches have its ``own``: it may have kept some that compaction took from the other one.
    What is ``known`` of the other one and begun since counts, too: a leader's has no records yet.
    """
    epochs = LeaderEpochs(own)
    epochs.truncate_from_end(end_offset)
    epochs.truncate_from_start(start_offset)
    for epoch, first_offset in known.entries:
        if epoch > epochs.latest:
            epochs.assign(epoch, first_offset)
    return epochs


class Truncation(NamedTuple):
    """What a follower (or a future log) does with its log after an answer about an epoch."""

    offset: int
    """Truncate to this offset; never above the log's own end."""
    finished: bool
    """False: ask again, with the latest epoch that is left after truncating."""


def decide_truncation(
    epochs: LeaderEpochs, log_end_offset: int, *, fallback_offset: int, answer: EpochEnd
) -> Truncation:
    """Decide where to cut a log whose latest epoch was asked at the leader (or the current log).

    ``fallback_offset`` is the high watermark: used when the other side knows nothing.
    Source: AbstractFetcherThread.scala getOffsetTruncationState, KIP-279.
    """
    if answer.end_offset == NO_OFFSET:
        return Truncation(min(fallback_offset, log_end_offset), finished=True)
    own = epochs.end_offset_for(answer.epoch, log_end_offset)
    if answer.epoch == NO_EPOCH or own.end_offset == NO_OFFSET:
        return Truncation(min(answer.end_offset, log_end_offset), finished=True)
    if own.epoch != answer.epoch:
        return Truncation(min(own.end_offset, log_end_offset), finished=False)
    return Truncation(min(own.end_offset, answer.end_offset, log_end_offset), finished=True)


def diverging_end(
    epochs: LeaderEpochs, log_end_offset: int, *, last_fetched_epoch: int, fetch_offset: int
) -> EpochEnd | None:
    """Tell a fetching follower where its log leaves this one; None while it does not.

    Returns UNDEFINED_END when this log knows nothing of that epoch: OFFSET_OUT_OF_RANGE then.
    Source: Partition.scala readRecords, KIP-595.
    """
    if last_fetched_epoch < 0:
        return None
    end = epochs.end_offset_for(last_fetched_epoch, log_end_offset)
    if end.end_offset == NO_OFFSET:
        return UNDEFINED_END
    if end.epoch < last_fetched_epoch or end.end_offset < fetch_offset:
        return end
    return None
