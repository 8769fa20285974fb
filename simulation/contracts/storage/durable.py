"""What is promised of the durable part of a log: what is said to be durable outlives a power cut.

Source: UnifiedLog.flush, LogManager.scala checkpointRecoveryOffsetsInDir.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence

from broker.core.producers import ProducerStates
from broker.storage import shutdown
from broker.storage.checkpoints import (
    RECOVERY_POINT_CHECKPOINT,
    CorruptCheckpoint,
    parse_offsets,
)
from broker.storage.files import LogDirFiles
from broker.storage.layout import (
    CLEAN_SHUTDOWN_FILE,
    LOG_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    parse_dir_name,
)
from broker.storage.log_segments import LogSegments, SetAside
from broker.storage.memory_tree import MemoryDir
from broker.storage.partition_log import PartitionLog
from broker.storage.segment import Segment
from broker.storage.swap import Swap
from protocol.ids import TopicPartition
from protocol.ports import Disk
from simulation.contracts.contract import Broken, of_function, of_method
from simulation.contracts.storage.disks import content, durable, has_durable, is_spoilt, tree_of


def not_durable(segments: Sequence[Segment], recovery_point: int, end: int) -> Broken:
    """Say what a power cut would take of that which lies before a recovery point.

    Of a segment that goes on behind it nobody can tell here how far it is durable.
    """
    ends = [*(one.base_offset for one in segments[1:]), end]
    tree = tree_of(segments[0].directory.files.disk)
    if tree is None:
        return None
    for segment, next_base in zip(segments, ends, strict=True):
        if next_base > recovery_point:
            break
        name = segment.files.name(LOG_SUFFIX)
        if segment.size_bytes and not has_durable(tree, name, segment.size_bytes):
            return (
                f"{name}, {segment.size_bytes} bytes up to {next_base}, would not outlive a power"
                f" cut, said to be durable up to {recovery_point}"
            )
    return None


def _not_durable_of(log: PartitionLog) -> Broken:
    if log.recovery_point > log.log_end_offset:
        return f"{log.name} ends at {log.log_end_offset}, durable up to {log.recovery_point}"
    broken = not_durable(log.segments, log.recovery_point, log.log_end_offset)
    return broken or _lost_transactions(log)


def _lost_transactions(log: PartitionLog) -> Broken:
    """Say which aborted transactions of what is durable a power cut would have forgotten.

    Readers of committed records would be given theirs.
    """
    ends = [*(one.base_offset for one in log.segments[1:]), log.log_end_offset]
    tree = tree_of(log.segments[0].directory.files.disk)
    for segment, end in zip(log.segments, ends, strict=True):
        if tree is None or end > log.recovery_point:
            return None
        name = segment.files.name(TRANSACTION_INDEX_SUFFIX)
        there = content(tree, name)
        if there and not has_durable(tree, name, len(there)):
            return f"{name}, of what is durable up to {log.recovery_point}, is not"
    return None


def _comes_back(log: PartitionLog) -> Broken:
    """Say what a power cut would bring back behind the end of a log that was cut."""
    tree = tree_of(log.segments[0].directory.files.disk)
    for segment in () if tree is None else log.segments:
        assert tree is not None
        name = segment.files.name(LOG_SUFFIX)
        kept = durable(tree, name)
        if kept is not None and len(kept) > segment.size_bytes and not is_spoilt(tree, name):
            return f"{name} has {segment.size_bytes} bytes, after a power cut {len(kept)}"
    return None


@of_function(shutdown.write_recovery_points)
def write_recovery_points(
    disk: Disk, logs: Mapping[TopicPartition, PartitionLog]
) -> Generator[None, None, Broken]:
    """What is written down as durable outlives a power cut."""
    yield
    return next(filter(None, map(_not_durable_of, logs.values())), None)


@of_method(PartitionLog, "flush")
def flush(log: PartitionLog, *, now_ms: int | None = None) -> Generator[None, None, Broken]:
    """A log that is flushed is durable up to its end, and ends there after a power cut, too."""
    is_deleted = log._deleted  # noqa: SLF001 -- nothing public has it
    yield
    if is_deleted:
        return None
    if log.recovery_point < log.log_end_offset:
        return f"{log.name} ends at {log.log_end_offset}, durable up to {log.recovery_point}"
    return _not_durable_of(log) or _comes_back(log)


@of_method(PartitionLog, "flush_sealed")
def flush_sealed(log: PartitionLog) -> Generator[None, None, Broken]:
    """Of a log whose full segments are flushed those are durable, and nothing else is said so.

    Where it was cut and that is not durable yet, the next flush is still due.
    """
    is_deleted = log._deleted  # noqa: SLF001 -- nothing public has it
    yield
    begin = log.segments[-1].base_offset
    if not is_deleted and log.recovery_point < begin:
        return f"the last segment of {log.name} begins at {begin}, durable: {log.recovery_point}"
    is_settled = is_deleted or log.needs_sync
    return _not_durable_of(log) or (None if is_settled else _comes_back(log))


@of_method(PartitionLog, "truncate_to")
def truncate_to(log: PartitionLog, offset: int) -> Generator[None, ProducerStates | None, Broken]:
    """Of what is cut off a log nothing is said to be durable."""
    yield
    return _not_durable_of(log)


@of_method(PartitionLog, "truncate_fully_and_start_at")
def truncate_fully(
    log: PartitionLog, offset: int, *, now_ms: int = 0
) -> Generator[None, None, Broken]:
    """An emptied log ends where it begins, and nothing is known of what it had."""
    yield
    held = (log.log_start_offset, log.log_end_offset)
    known = log._segments._snapshots.offsets  # noqa: SLF001 -- nothing public has it
    if known or log.producer_entries or len(log.segments) > 1 or log.size_bytes:
        return f"{log.name} is emptied at {offset}, and has {known}, {log.producer_entries}"
    if held != (offset, offset) or log.recovery_point > offset:
        return f"{log.name} is emptied at {offset}: {held}, durable up to {log.recovery_point}"
    return None


@of_method(Swap, "promote")
def promote(swap: Swap, files: LogDirFiles) -> Generator[None, None, Broken]:
    """The log that takes the place of another one is durable as a whole, its name too."""
    future = swap._future  # noqa: SLF001 -- nothing public has it
    yield
    if future.recovery_point < future.log_end_offset:
        return f"{future.name} is durable up to {future.recovery_point} of {future.log_end_offset}"
    return _not_durable_of(future)


@of_method(LogSegments, "replace")
def replace(
    segments: LogSegments, old: Sequence[Segment], cleaned: Sequence[Segment]
) -> Generator[None, SetAside, Broken]:
    """What compaction leaves out lies before the recovery point that is written down.

    Behind it a start takes what is missing for a loss.
    """
    tree, name = tree_of(segments.directory.files.disk), segments.directory.name
    behind = segments.segments[segments.segments.index(old[-1]) + 1 :]
    end = behind[0].base_offset if behind else old[-1].base_offset
    yield
    if tree is None:
        return None
    known = written_offset(tree, RECOVERY_POINT_CHECKPOINT, name)
    return None if known is None or known >= end else f"{name} up to {end}, {known} is written"


def written_offset(tree: MemoryDir, checkpoint: str, name: str) -> int | None:
    """Return what a checkpoint says of the log in a directory; 0 when it does not name it.

    None when nobody can read it.
    """
    data = content(tree, checkpoint)
    try:
        offsets = parse_offsets(data or b"")
    except CorruptCheckpoint:
        return None
    return offsets.get(parse_dir_name(name).topic_partition, 0)


@of_function(shutdown.close_log_dir)
def close_log_dir(
    files: LogDirFiles,
    logs: Mapping[TopicPartition, PartitionLog],
    high_watermarks: Mapping[TopicPartition, int],
    *,
    broker_epoch: int,
) -> Generator[None, None, Broken]:
    """A log dir that is marked as clean is durable, and every log in it up to its end."""
    yield
    tree = tree_of(files.disk)
    if tree is None:
        return None
    for log in logs.values():
        is_whole = log._deleted or log.recovery_point == log.log_end_offset  # noqa: SLF001 -- as above
        broken = f"{log.name}: {log.recovery_point}"
        if is_whole:
            broken = _not_durable_of(log) or (None if log._deleted else _comes_back(log))  # noqa: SLF001
        if broken is not None:
            return broken
    is_marked = durable(tree, CLEAN_SHUTDOWN_FILE) is not None
    return None if is_marked or is_spoilt(tree, CLEAN_SHUTDOWN_FILE) else "it is not marked"
