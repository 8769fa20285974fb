"""PartitionLog: the batches of one replica as segments in one directory.

Synchronous; its dir's thread owns it. It gives no offsets, knows no leader, high watermark or
quota, and validates nothing but the order of what it gets.

Source: UnifiedLog.scala, LocalLog.scala.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from broker.core.producers import ProducerEntry
from broker.storage.batch_scan import CorruptBatch, batches_in
from broker.storage.checkpoints import render_leader_epochs
from broker.storage.files import LogDirFiles
from broker.storage.indexes import AbortedTransaction
from broker.storage.layout import (
    LEADER_EPOCH_FILE,
    PARTITION_METADATA_FILE,
    render_partition_metadata,
)
from broker.storage.log_reader import (
    FoundOffset,
    LogRead,
    find_aborted,
    find_timestamp,
    largest_timestamp,
    read_batches,
    segment_number,
)
from broker.storage.producer_snapshot import WrittenProducers
from broker.storage.rolling import must_roll
from broker.storage.segment import LogConfig, PartitionFiles, Segment
from broker.storage.snapshots import Snapshots
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ports import Buffer
from protocol.records.batch import BatchHeader

_NO_TIMESTAMP: Final = -1


class PartitionLog:
    """One log on one disk. The attributes may be read from the loop: they describe what is written.

    Every method may raise OSError, which takes the log dir offline.
    """

    __slots__ = (
        "_deleted",
        "_directory",
        "_parent_synced",
        "_producers",
        "_segments",
        "_snapshots",
        "_sync_due",
        "config",
        "log_end_offset",
        "log_start_offset",
        "recovery_point",
        "size_bytes",
    )

    def __init__(
        self,
        directory: PartitionFiles,
        config: LogConfig,
        segments: Sequence[Segment],
        producers: WrittenProducers,
        snapshots: Snapshots,
    ) -> None:
        """Take over segments that are complete.

        Offsets are those of the segments until they are set.
        """
        self.config: LogConfig = config
        """Takes effect with the next append."""
        self.log_start_offset = segments[0].base_offset
        self.log_end_offset = segments[-1].base_offset
        self.recovery_point = segments[0].base_offset
        """Everything before it is durable."""
        self.size_bytes = sum(segment.size_bytes for segment in segments)
        self._directory = directory
        self._segments = list(segments)
        self._producers = producers
        self._snapshots = snapshots
        self._parent_synced = False
        self._deleted = False
        self._sync_due = False

    @classmethod
    def create(
        cls,
        files: LogDirFiles,
        name: str,
        config: LogConfig,
        *,
        now_ms: int,
        topic_id: bytes | None = None,
        log_start_offset: int = 0,
    ) -> PartitionLog:
        """Make the directory ``name`` and an empty log in it.

        Nothing is durable before the first ``flush``.

        Raises:
            FileExistsError: the directory exists. As every OSError it takes the log dir offline.
        """
        files.disk.make_dir(name)
        directory = PartitionFiles(files, name)
        segment = Segment(directory, log_start_offset, config, created_ms=now_ms)
        if log_start_offset > 0:
            segment.file()
        log = cls(directory, config, [segment], WrittenProducers(), Snapshots(directory))
        if topic_id is not None:
            log.write_partition_metadata(topic_id)
        return log

    @property
    def name(self) -> str:
        """The directory's name in the log dir."""
        return self._directory.name

    @property
    def segment_base_offsets(self) -> list[int]:
        """Ascending; the last one is the active segment's."""
        return [segment.base_offset for segment in self._segments]

    @property
    def needs_sync(self) -> bool:
        """Whether something of it is not durable, small files apart."""
        return self._sync_due or self.recovery_point < self.log_end_offset

    @property
    def segments(self) -> Sequence[Segment]:
        """By base offset, the active one last; for the dir's thread and for tools."""
        return self._segments

    @property
    def producer_entries(self) -> list[ProducerEntry]:
        """The producers as written, by id; for the dir's thread."""
        return self._producers.entries

    def restore_offsets(
        self, *, log_start_offset: int, log_end_offset: int, recovery_point: int, was_clean: bool
    ) -> None:
        """Set what a recovery found, once; after an unclean stop the next flush always syncs."""
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.recovery_point = recovery_point
        self._sync_due = not was_clean

    def append(self, buffers: Sequence[Buffer], *, now_ms: int) -> int:
        """Write whole batches, each buffer into one segment, all in as few writes as segments.

        Return the new end.

        Offsets must be in the batches already, ascending from the log end offset on; gaps are
        allowed.
        """
        pending: list[Buffer] = []
        pending_bytes = 0
        next_offset = self.log_end_offset
        for buffer in buffers:
            batches = batches_in(buffer)
            if must_roll(self._segments[-1], self.config, batches, pending_bytes, now_ms):
                self._write(pending, pending_bytes, next_offset)
                pending, pending_bytes = [], 0
                self._roll(max(batches[0][1].base_offset, next_offset), now_ms)
            next_offset = self._note(buffer, batches, next_offset, pending_bytes)
            pending.append(buffer)
            pending_bytes += len(buffer)
        self._write(pending, pending_bytes, next_offset)
        return self.log_end_offset

    def read(
        self, offset: int, max_bytes: int, *, min_one: bool = True, up_to: int | None = None
    ) -> LogRead:
        """Read up to ``max_bytes`` of whole batches, from the one that holds ``offset`` on.

        With ``min_one`` the first batch comes even when it is larger. ``up_to`` (a high watermark)
        ends the read before the batch that holds it.

        Raises:
            KafkaError: OFFSET_OUT_OF_RANGE; CORRUPT_MESSAGE when a file does not hold batches
                there.
        """
        if not self.log_start_offset <= offset <= self.log_end_offset:
            bounds = f"{self.log_start_offset} to {self.log_end_offset}"
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset} is not in {bounds}")
        end = self.log_end_offset if up_to is None else min(up_to, self.log_end_offset)
        if offset >= end:
            return LogRead((), 0, offset)
        try:
            return read_batches(
                self._segments,
                offset,
                end,
                max_bytes,
                log_end_offset=self.log_end_offset,
                min_one=min_one,
            )
        except CorruptBatch as exc:
            raise self._corrupt(exc) from exc

    def offset_for_timestamp(self, timestamp: int) -> FoundOffset | None:
        """Return the first record that has ``timestamp`` or a later one, None without one.

        Raises:
            KafkaError: CORRUPT_MESSAGE.
        """
        try:
            return find_timestamp(self._segments, timestamp, self.log_start_offset)
        except (CorruptBatch, Malformed) as exc:
            raise self._corrupt(exc) from exc

    def offset_for_max_timestamp(self) -> FoundOffset | None:
        """Return the first record that has the largest timestamp of the log.

        Raises:
            KafkaError: CORRUPT_MESSAGE.
        """
        largest = max(map(largest_timestamp, self._segments))
        return None if largest == _NO_TIMESTAMP else self.offset_for_timestamp(largest)

    def aborted_transactions(self, start: int, end: int) -> list[AbortedTransaction]:
        """Return the aborted transactions that touch offsets from ``start`` up to ``end``."""
        return find_aborted(self._segments, start, end)

    def truncate_to(self, offset: int) -> None:
        """Drop every batch that reaches ``offset`` or beyond; the log ends at ``offset`` then.

        Write the dir's recovery point checkpoint afterwards: the one on disk may name offsets that
        are gone.
        """
        if offset >= self.log_end_offset:
            return
        if offset < self._segments[0].base_offset:
            self.truncate_fully_and_start_at(offset)
            return
        while self._segments[-1].base_offset > offset:
            self._segments.pop().delete()
        self._segments[-1].truncate_to(offset)
        self._snapshots.remove_above(offset)
        self._set_end(offset)
        self._producers = self._snapshots.load(self._segments, offset)

    def truncate_fully_and_start_at(self, offset: int, *, now_ms: int = 0) -> None:
        """Drop everything; the empty log starts and ends at ``offset``."""
        created_ms = max(now_ms, self._segments[-1].created_ms)
        while self._segments:
            self._segments.pop().delete()
        self._snapshots.remove_above(-1)
        segment = Segment(self._directory, offset, self.config, created_ms=created_ms)
        segment.file()
        self._segments = [segment]
        self._producers = WrittenProducers()
        self.log_start_offset = offset
        self._set_end(offset)

    def raise_log_start_offset(self, offset: int) -> None:
        """Move the log start offset up to ``offset``; files stay until retention removes them."""
        assert offset <= self.log_end_offset, f"{offset} is behind the end {self.log_end_offset}"
        self.log_start_offset = max(self.log_start_offset, offset)

    def write_leader_epochs(self, entries: Iterable[tuple[int, int]]) -> None:
        """Replace ``leader-epoch-checkpoint``.

        (epoch, start offset), ascending. Durable with the next flush or probe.
        """
        if not self._deleted:
            self._directory.replace(LEADER_EPOCH_FILE, render_leader_epochs(entries))

    def write_partition_metadata(self, topic_id: bytes) -> None:
        """Replace ``partition.metadata``. Durable with the next flush or probe."""
        self._directory.replace(PARTITION_METADATA_FILE, render_partition_metadata(topic_id))

    def flush(self) -> None:
        """Make everything written durable and move the recovery point to the log end offset."""
        self._flush_before(len(self._segments), self.log_end_offset)

    def flush_sealed(self) -> None:
        """As ``flush``, but leave the active segment alone: for a regular job after rolls."""
        self._flush_before(len(self._segments) - 1, self._segments[-1].base_offset)

    def close(self) -> None:
        """Make everything durable and complete, with a producer snapshot at the end.

        Nothing may follow.
        """
        if self._deleted:
            return
        self.complete()
        self.flush()
        self._directory.files.close_below(self.name)

    def complete(self) -> None:
        """Write index entries and a producer snapshot up to the end, as of a clean stop."""
        if self._deleted:
            return
        if self._segments[-1].size_bytes > 0:
            self._segments[-1].seal()
        if self.log_end_offset > 0:
            self._snapshots.take(self.log_end_offset, self._producers)

    def mark_durable(self) -> None:
        """Move the recovery point to the end: the whole file system was synced."""
        self.recovery_point = self.log_end_offset
        self._sync_due = False

    def rename(self, name: str) -> None:
        """Give the directory another name in the same log dir, durably.

        An existing one is an OSError.
        """
        files = self._directory.files
        files.sync_replaced(self.name)
        files.close_below(self.name)
        files.disk.rename(self.name, name)
        files.disk.sync_dir("")
        self._directory.name = name

    def delete_files(self) -> None:
        """Remove the directory and all in it; later calls that would write do nothing."""
        self._deleted = True
        self._directory.files.close_below(self.name)
        for segment in self._segments:
            self._directory.files.unloaded(segment)
        self._directory.files.disk.remove_tree(self.name)

    def _roll(self, base_offset: int, now_ms: int) -> None:
        """Seal the active segment and begin one at ``base_offset``.

        An empty active one is replaced.
        """
        if self._segments[-1].size_bytes == 0:
            self._segments.pop().delete()
        else:
            self._segments[-1].seal()
            self._snapshots.take(base_offset, self._producers)
        self._segments.append(Segment(self._directory, base_offset, self.config, created_ms=now_ms))

    def _note(
        self,
        buffer: Buffer,
        batches: Sequence[tuple[int, BatchHeader]],
        next_offset: int,
        pending_bytes: int,
    ) -> int:
        """Take batches into indexes and producer state; return the offset after them."""
        active = self._segments[-1]
        start = active.size_bytes + pending_bytes
        for position, header in batches:
            assert header.base_offset >= next_offset, f"{header} below {next_offset} in {self.name}"
            active.note(header, start + position)
            if header.producer_id >= 0:
                aborted = self._producers.note(header, buffer, position)
                if aborted is not None:
                    active.append_aborted(aborted)
            next_offset = header.next_offset
        last_position, last = batches[-1]
        assert last_position + last.size_bytes == len(buffer), "a buffer holds whole batches"
        return next_offset

    def _write(self, pending: Sequence[Buffer], pending_bytes: int, next_offset: int) -> None:
        if pending:
            self._segments[-1].append(pending)
            self.size_bytes += pending_bytes
            self.log_end_offset = next_offset

    def _flush_before(self, count: int, recovery_point: int) -> None:
        """Sync the first ``count`` segments where they reach beyond the recovery point."""
        files = self._directory.files
        if self._deleted:
            return
        if recovery_point > self.recovery_point or self._sync_due:
            # A cut segment may end right before the recovery point, so that one is synced as well.
            first = segment_number(self._segments, self.recovery_point - self._sync_due)
            for segment in self._segments[first:count]:
                segment.sync()
            files.disk.sync_dir(self.name)
            if not self._parent_synced:
                files.disk.sync_dir("")
                self._parent_synced = True
            self.recovery_point = max(self.recovery_point, recovery_point)
            self._sync_due = self._sync_due and count < len(self._segments)
        files.sync_replaced(self.name)

    def _set_end(self, offset: int) -> None:
        self.size_bytes = sum(segment.size_bytes for segment in self._segments)
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self.recovery_point = min(self.recovery_point, offset)
        self._sync_due = True

    def _corrupt(self, cause: Exception) -> KafkaError:
        return KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{self.name}: {cause}")
