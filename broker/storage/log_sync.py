"""LogSync: what of one log is durable, and making more of it so.

It does not decide when. Source: UnifiedLog.flush, LocalLog.flush.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker.storage.log_reader import segment_number
from broker.storage.segment import Segment
from broker.storage.segment_files import PartitionFiles


class LogSync:
    """The recovery point of a log. For the log dir's thread; the loop may read it."""

    __slots__ = ("_directory", "_parent_synced", "is_due", "recovery_point")

    def __init__(self, directory: PartitionFiles, recovery_point: int) -> None:
        self.recovery_point = recovery_point
        """Everything before it is durable."""
        self.is_due = False
        """Whether the next flush syncs although nothing lies behind the recovery point."""
        self._directory = directory
        self._parent_synced = False

    def flush(self, segments: Sequence[Segment], count: int, recovery_point: int) -> None:
        """Sync the first ``count`` segments where they reach beyond the recovery point.

        ``recovery_point`` is where they end. Small files are synced in any case.
        """
        name, files = self._directory.name, self._directory.files
        if recovery_point > self.recovery_point or self.is_due or self._is_seal_unsynced(segments):
            for segment in segments[self._first(segments) : count]:
                segment.sync()
            files.disk.sync_dir(name)
            if not self._parent_synced:
                files.disk.sync_dir("")
                self._parent_synced = True
            self.recovery_point = max(self.recovery_point, recovery_point)
            self.is_due = self.is_due and count < len(segments)
        files.sync_replaced(name)

    def needs(self, segments: Sequence[Segment], end: int) -> bool:
        """Tell whether a flush of a log that ends at ``end`` would sync more than small files."""
        return self.is_due or self.recovery_point < end or self._is_seal_unsynced(segments)

    def has_sealed(self, segments: Sequence[Segment]) -> bool:
        """Tell whether sealed segments wait for their sync, or their last index entries do."""
        is_behind = self.recovery_point < segments[-1].base_offset
        return is_behind or self._is_seal_unsynced(segments)

    def _first(self, segments: Sequence[Segment]) -> int:
        """Return the number of the first segment to sync.

        A cut segment may end right before the recovery point, and one that was sealed there got its
        last index entries after its sync: such a one is synced as well.
        """
        if self.is_due or self._is_seal_unsynced(segments):
            return segment_number(segments, self.recovery_point - 1)
        return segment_number(segments, self.recovery_point)

    def _is_seal_unsynced(self, segments: Sequence[Segment]) -> bool:
        number = segment_number(segments, self.recovery_point)
        return (
            number > 0
            and segments[number].base_offset == self.recovery_point
            and segments[number - 1].has_unsynced_indexes
        )

    def cut(self, offset: int) -> None:
        """Note that the log was cut to ``offset``: the next flush syncs."""
        self.recovery_point = min(self.recovery_point, offset)
        self.is_due = True

    def synced(self, end: int) -> None:
        """Note that everything up to ``end`` is durable: the whole file system was synced."""
        self.recovery_point = end
        self.is_due = False
