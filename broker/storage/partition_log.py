"""PartitionLog: the batches of one replica as segments in one directory.

Synchronous; its dir's thread owns it. It gives no offsets, knows no leader, high watermark or
quota, and validates nothing but the order of what it gets.

Source: UnifiedLog.scala, LocalLog.scala.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from broker.core.producer_entry import ProducerEntry
from broker.core.producers import ProducerStates
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
)
from broker.storage.log_segments import LogSegments, SetAside
from broker.storage.log_sync import LogSync
from broker.storage.rolling import must_roll, next_base_offset
from broker.storage.segment import LogConfig, Segment
from broker.storage.segment_files import PartitionFiles
from broker.storage.snapshots import Snapshots
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ids import NO_TIMESTAMP
from protocol.ports import Buffer


class PartitionLog:
    """One log on one disk. The attributes may be read from the loop: they describe what is written.

    Every method may raise OSError, which takes the log dir offline.
    """

    __slots__ = (
        "_deleted",
        "_directory",
        "_segments",
        "_sync",
        "config",
        "flushed_ms",
        "log_end_offset",
        "log_start_offset",
        "size_bytes",
    )

    def __init__(
        self,
        directory: PartitionFiles,
        config: LogConfig,
        segments: Sequence[Segment],
        producers: ProducerStates,
        snapshots: Snapshots,
    ) -> None:
        """Take over segments that are complete.

        Offsets are those of the segments until they are set.
        """
        self.config: LogConfig = config
        """Takes effect with the next append."""
        self.log_start_offset = segments[0].base_offset
        self.log_end_offset = segments[-1].base_offset
        self._segments = LogSegments(directory, segments, producers, snapshots)
        self._sync = LogSync(directory, segments[0].base_offset)
        self.size_bytes = self._segments.size_bytes
        self.flushed_ms = segments[-1].created_ms
        """When it was last flushed because `flush.ms` or `flush.messages` asked for it."""
        self._directory = directory
        self._deleted = False

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
        log = cls(directory, config, [segment], ProducerStates(), Snapshots(directory))
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
        return [segment.base_offset for segment in self._segments.segments]

    @property
    def recovery_point(self) -> int:
        """Everything before it is durable."""
        return self._sync.recovery_point

    @property
    def needs_sync(self) -> bool:
        """Whether something of it is not durable, small files apart."""
        return self._sync.needs(self._segments.segments, self.log_end_offset)

    @property
    def has_sealed_to_sync(self) -> bool:
        """Whether ``flush_sealed`` has work."""
        return self._sync.has_sealed(self._segments.segments)

    @property
    def segments(self) -> Sequence[Segment]:
        """By base offset, the active one last; for the dir's thread and for tools."""
        return self._segments.segments

    @property
    def producer_entries(self) -> list[ProducerEntry]:
        """The producers as written, by id; for the dir's thread."""
        return self._segments.producers.snapshot_entries()

    def restore_offsets(
        self, *, log_start_offset: int, log_end_offset: int, recovery_point: int, was_clean: bool
    ) -> None:
        """Set what a recovery found, once; after an unclean stop the next flush always syncs."""
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self._sync.recovery_point = recovery_point
        self._sync.is_due = not was_clean

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
            if must_roll(self._segments.active, self.config, batches, pending_bytes, now_ms):
                self._write(pending, pending_bytes, next_offset)
                pending, pending_bytes = [], 0
                base_offset = next_base_offset(batches, next_offset)
                self._segments.roll(base_offset, self.config, now_ms)
            next_offset = self._segments.note(buffer, batches, next_offset, pending_bytes)
            pending.append(buffer)
            pending_bytes += len(buffer)
        self._write(pending, pending_bytes, next_offset)
        if self.log_end_offset - self.recovery_point >= self.config.flush_messages:
            self.flush(now_ms=now_ms)
        return self.log_end_offset

    def read(
        self,
        offset: int,
        max_bytes: int,
        *,
        min_one: bool = True,
        up_to: int | None = None,
        with_aborted: bool = False,
    ) -> LogRead:
        """Read up to ``max_bytes`` of whole batches, from the one that holds ``offset`` on.

        With ``min_one`` the first batch comes even when it is larger. ``up_to`` (a high watermark)
        ends the read before the batch that holds it. ``with_aborted`` tells the transactions, too.

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
            read = read_batches(
                self._segments.segments,
                offset,
                end,
                max_bytes,
                log_end_offset=self.log_end_offset,
                min_one=min_one,
            )
        except CorruptBatch as exc:
            raise self._corrupt(exc) from exc
        if not with_aborted or not read.buffers:
            return read
        return read._replace(aborted=self.aborted_transactions(offset, read.next_offset))

    def offset_for_timestamp(self, timestamp: int) -> FoundOffset | None:
        """Return the first record that has ``timestamp`` or a later one, None without one.

        Raises:
            KafkaError: CORRUPT_MESSAGE.
        """
        try:
            return find_timestamp(self._segments.segments, timestamp, self.log_start_offset)
        except (CorruptBatch, Malformed) as exc:
            raise self._corrupt(exc) from exc

    def offset_for_max_timestamp(self) -> FoundOffset | None:
        """Return the first record that has the largest timestamp of the log.

        Raises:
            KafkaError: CORRUPT_MESSAGE.
        """
        largest = max(map(largest_timestamp, self._segments.segments))
        return None if largest == NO_TIMESTAMP else self.offset_for_timestamp(largest)

    def aborted_transactions(self, start: int, end: int) -> list[AbortedTransaction]:
        """Return the aborted transactions that touch offsets from ``start`` up to ``end``."""
        return find_aborted(self._segments.segments, start, end)

    def truncate_to(self, offset: int) -> ProducerStates | None:
        """Drop every batch that reaches ``offset`` or beyond; the log ends at ``offset`` then.

        Return the producers as of there, None when nothing was dropped. Write the dir's recovery
        point checkpoint afterwards: the one on disk may name offsets that are gone.
        """
        if offset >= self.log_end_offset:
            return None
        if offset < self._segments.segments[0].base_offset:
            self.truncate_fully_and_start_at(offset)
            return ProducerStates()
        producers = self._segments.cut(offset)
        self._set_end(offset)
        return producers

    def truncate_fully_and_start_at(self, offset: int, *, now_ms: int = 0) -> None:
        """Drop everything; the empty log starts and ends at ``offset``."""
        self._segments.restart(offset, self.config, now_ms)
        self.log_start_offset = offset
        self._set_end(offset)

    def forget_producers(self, producer_ids: Iterable[int]) -> None:
        """Leave producers that expired out of the snapshots to come."""
        self._segments.producers.forget(producer_ids)

    def raise_log_start_offset(self, offset: int) -> None:
        """Move the log start offset up to ``offset``; files stay until retention removes them."""
        assert offset <= self.log_end_offset, f"{offset} is behind the end {self.log_end_offset}"
        self.log_start_offset = max(self.log_start_offset, offset)

    def roll(self, *, now_ms: int) -> None:
        """Leave the active segment for a new one, unless it is empty."""
        if self._segments.active.size_bytes > 0:
            self._segments.roll(self.log_end_offset, self.config, now_ms)

    def remove_oldest(self, count: int, *, now_ms: int) -> SetAside:
        """Take the first ``count`` segments out of the log; the active one is rolled before.

        The log start offset moves along. Have ``SetAside.remove`` called on the same thread after
        `file.delete.delay.ms`. Source: UnifiedLog.deleteSegments.
        """
        if count == len(self._segments.segments):
            self.roll(now_ms=now_ms)
        aside = self._segments.remove_oldest(count)
        self.size_bytes = self._segments.size_bytes
        first = self._segments.segments[0].base_offset
        self.log_start_offset = max(self.log_start_offset, first)
        return aside

    def replace_segments(self, old: Sequence[Segment], cleaned: Sequence[Segment]) -> SetAside:
        """Put ``cleaned`` segments in place of a run of sealed ``old`` ones, at once and durably.

        Those of ``cleaned`` are sealed and have the suffix `.cleaned`; their records keep their
        offsets. Have ``SetAside.remove`` called on the same thread after `file.delete.delay.ms`.
        """
        aside = self._segments.replace(old, cleaned)
        self.size_bytes = self._segments.size_bytes
        return aside

    def write_leader_epochs(self, entries: Iterable[tuple[int, int]]) -> None:
        """Replace ``leader-epoch-checkpoint``.

        (epoch, start offset), ascending. Durable with the next flush or probe.
        """
        if not self._deleted:
            self._directory.replace(LEADER_EPOCH_FILE, render_leader_epochs(entries))

    def write_partition_metadata(self, topic_id: bytes) -> None:
        """Replace ``partition.metadata``. Durable with the next flush or probe."""
        self._directory.replace(PARTITION_METADATA_FILE, render_partition_metadata(topic_id))

    def flush(self, *, now_ms: int | None = None) -> None:
        """Make everything written durable and move the recovery point to the log end offset.

        ``now_ms`` is noted for ``flush_if_due``.
        """
        if now_ms is not None:
            self.flushed_ms = now_ms
        if not self._deleted:
            segments = self._segments.segments
            self._sync.flush(segments, len(segments), self.log_end_offset)

    def flush_if_due(self, now_ms: int) -> None:
        """Flush when `flush.ms` went by since the last time. Source: LogManager.flushDirtyLogs."""
        if now_ms - self.flushed_ms >= self.config.flush_ms:
            self.flush(now_ms=now_ms)

    def flush_sealed(self) -> None:
        """As ``flush``, but leave the active segment alone: for a regular job after rolls."""
        if not self._deleted:
            segments = self._segments.segments
            self._sync.flush(segments, len(segments) - 1, segments[-1].base_offset)

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
        if not self._deleted:
            self._segments.complete(self.log_end_offset)

    def mark_durable(self) -> None:
        """Move the recovery point to the end: the whole file system was synced."""
        self._sync.synced(self.log_end_offset)

    def rename(self, name: str) -> None:
        """Give the directory another name in the same log dir, durably.

        An existing one is an OSError.
        """
        self._directory.rename(name)

    def hand_over(self, files: LogDirFiles) -> None:
        """Leave the log to another thread of its log dir, whose open files are ``files``.

        The last call on this thread; the other one begins when it is done.
        """
        self._segments.unload()
        self._directory.hand_over(files)

    def leave_small_files(self) -> None:
        """Do not sync small files that were replaced: the log is about to go."""
        self._directory.files.close_below(self.name)

    def delete_files(self) -> None:
        """Remove the directory and all in it; later calls that would write do nothing."""
        self._deleted = True
        self._directory.files.close_below(self.name)
        self._segments.unload()
        self._directory.files.disk.remove_tree(self.name)

    def _write(self, pending: Sequence[Buffer], pending_bytes: int, next_offset: int) -> None:
        if pending:
            self._segments.active.append(pending)
            self.size_bytes += pending_bytes
            self.log_end_offset = next_offset

    def _set_end(self, offset: int) -> None:
        self.size_bytes = self._segments.size_bytes
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self._sync.cut(offset)

    def _corrupt(self, cause: Exception) -> KafkaError:
        return KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{self.name}: {cause}")
