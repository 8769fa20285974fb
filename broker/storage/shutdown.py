"""Writing the checkpoints of a log dir, regularly and at a clean stop.

Jobs of the dir's own thread.

Source: LogManager.scala (checkpointRecoveryOffsetsInDir, checkpointLogStartOffsetsInDir, shutdown).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from broker.storage.checkpoints import (
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    render_offsets,
)
from broker.storage.files import LogDirFiles
from broker.storage.layout import CLEAN_SHUTDOWN_FILE, render_clean_shutdown
from broker.storage.partition_log import PartitionLog
from protocol.ids import TopicPartition
from protocol.ports import Disk

_SINGLE_SYNCS_MAX: Final = 32


def write_recovery_points(disk: Disk, logs: Mapping[TopicPartition, PartitionLog]) -> None:
    """Write how far each log of the dir, current or future, is durable.

    Every minute, and after truncating, deleting and swapping.
    """
    points = {topic_partition: log.recovery_point for topic_partition, log in logs.items()}
    disk.write_atomic(RECOVERY_POINT_CHECKPOINT, render_offsets(points))


def write_log_start_offsets(
    disk: Disk,
    logs: Mapping[TopicPartition, PartitionLog],
    *,
    raised: Mapping[TopicPartition, int] | None = None,
) -> None:
    """Write the log start offsets of the logs that do not start at 0.

    Also where the first segment starts there: a power cut may bring back the files of those before
    it, and with them records that were deleted. ``raised``: where logs are to start, which the
    files may not know yet.
    """
    least = raised or {}
    starts = {tp: max(log.log_start_offset, least.get(tp, 0)) for tp, log in logs.items()}
    offsets = {tp: start for tp, start in starts.items() if start > 0}
    disk.write_atomic(LOG_START_OFFSET_CHECKPOINT, render_offsets(offsets))


def write_high_watermarks(disk: Disk, high_watermarks: Mapping[TopicPartition, int]) -> None:
    """Write the high watermarks of the dir's logs, also of those that nobody named yet.

    Source: KAFKA-6604.
    """
    disk.write_atomic(REPLICATION_OFFSET_CHECKPOINT, render_offsets(high_watermarks))


def write_checkpoints(
    disk: Disk,
    logs: Mapping[TopicPartition, PartitionLog],
    high_watermarks: Mapping[TopicPartition, int],
) -> None:
    """Write all three."""
    write_recovery_points(disk, logs)
    write_log_start_offsets(disk, logs)
    write_high_watermarks(disk, high_watermarks)


def close_log_dir(
    files: LogDirFiles,
    logs: Mapping[TopicPartition, PartitionLog],
    high_watermarks: Mapping[TopicPartition, int],
    *,
    broker_epoch: int,
) -> None:
    """Close every log of a fully loaded dir, checkpoint, mark it as clean, release the lock.

    A job without a deadline, the last one before ``LogDir.close``; nothing goes on
    beside it. An OSError on the way leaves no marker.
    """
    for log in logs.values():
        log.hand_over(files)
        log.complete()
    _make_durable(files, logs.values())
    write_checkpoints(files.disk, logs, high_watermarks)
    files.disk.write_atomic(CLEAN_SHUTDOWN_FILE, render_clean_shutdown(broker_epoch))
    files.disk.unlock()


def _make_durable(files: LogDirFiles, logs: Iterable[PartitionLog]) -> None:
    """Sync what is not durable: one by one while that is little, else all at once."""
    due = [log for log in logs if log.needs_sync]
    if len(due) + files.unsynced_count > _SINGLE_SYNCS_MAX:
        files.sync_all()
        for log in due:
            log.mark_durable()
        return
    for log in due:
        log.flush()
    files.sync_replaced()
