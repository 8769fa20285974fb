"""Where the next compaction of each log goes on, and which logs cannot be compacted; per log dir.

What `cleaner-offset-checkpoint` holds. It reads and writes no files.

Source: LogCleanerManager.scala (checkpoints, uncleanablePartitions), KAFKA-8362, KAFKA-7215.
"""

from __future__ import annotations

from collections.abc import Mapping

from protocol.ids import TopicPartition


class CleanerOffsets:
    """The first dirty offset of each log that was compacted, by the path of its log dir."""

    __slots__ = ("_changed", "_offsets", "_uncleanable")

    def __init__(self) -> None:
        self._offsets: dict[str, dict[TopicPartition, int]] = {}
        self._uncleanable: dict[str, dict[TopicPartition, None]] = {}
        self._changed: dict[str, None] = {}

    def load(self, path: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Take over what a log dir's file says, before anything else."""
        self._offsets[path] = dict(offsets)

    def get(self, path: str, tp: TopicPartition) -> int | None:
        """Return where the next pass begins; None when there was none yet."""
        return self._offsets.get(path, {}).get(tp)

    def put(self, path: str, tp: TopicPartition, offset: int) -> None:
        """Note that all before ``offset`` is compacted."""
        self._offsets.setdefault(path, {})[tp] = offset
        self._changed[path] = None

    def truncated(self, path: str, tp: TopicPartition, offset: int) -> None:
        """Note that a log was cut to ``offset``: what follows was never compacted."""
        if self.has_gone_beyond(path, tp, offset):
            self.put(path, tp, offset)

    def has_gone_beyond(self, path: str, tp: TopicPartition, offset: int) -> bool:
        """Tell whether compaction may have taken what lies before ``offset`` for what follows."""
        known = self.get(path, tp)
        return known is not None and known > offset

    def move(self, tp: TopicPartition, source: str, target: str) -> None:
        """Note that a log lives in another log dir now (KAFKA-8362)."""
        offset, is_uncleanable = self.get(source, tp), self.is_uncleanable(source, tp)
        self.forget(source, tp)
        self.forget(target, tp)
        if offset is not None:
            self.put(target, tp, offset)
        if is_uncleanable:
            self.mark_uncleanable(target, tp)

    def forget(self, path: str, tp: TopicPartition) -> None:
        """Note that a log is deleted."""
        self._uncleanable.get(path, {}).pop(tp, None)
        if self._offsets.get(path, {}).pop(tp, None) is not None:
            self._changed[path] = None

    def log_dir_failed(self, path: str) -> None:
        """Forget all of a log dir without writing anything to it."""
        self._offsets.pop(path, None)
        self._uncleanable.pop(path, None)
        self._changed.pop(path, None)

    def mark_uncleanable(self, path: str, tp: TopicPartition) -> None:
        """Leave a log alone until the broker starts again: a pass met what it cannot read."""
        self._uncleanable.setdefault(path, {})[tp] = None

    def is_uncleanable(self, path: str, tp: TopicPartition) -> bool:
        """Tell whether a pass over the log failed."""
        return tp in self._uncleanable.get(path, {})

    def uncleanable(self, path: str) -> tuple[TopicPartition, ...]:
        """Return the logs of a log dir that are left alone, in the order they were met."""
        return tuple(self._uncleanable.get(path, {}))

    def offsets_of(self, path: str) -> dict[TopicPartition, int]:
        """Return what belongs into a log dir's file."""
        return dict(self._offsets.get(path, {}))

    def take_changed(self, path: str) -> bool:
        """Tell whether a log dir's file is out of date; the caller writes it then."""
        return path in self._changed and self._changed.pop(path) is None
