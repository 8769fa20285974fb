"""What is promised of logs that are found on a disk, or made on it, and of what a cut leaves.

Source: LogLoader.scala, LogManager.loadLogs, ProducerStateManager.java.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from broker.core.producers import ProducerStates
from broker.storage import log_recovery, recovery
from broker.storage.checkpoints import (
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    CorruptCheckpoint,
    parse_offsets,
)
from broker.storage.files import LogDirFiles
from broker.storage.layout import CLEAN_SHUTDOWN_FILE
from broker.storage.log_recovery import KnownOffsets, OpenedLog
from broker.storage.log_segments import LogSegments
from broker.storage.memory_tree import MemoryDir
from broker.storage.partition_log import PartitionLog
from broker.storage.recovery import LoadedLogDir, LoadProgress
from broker.storage.segment import LogConfig
from broker.storage.segment_files import PartitionFiles
from protocol.ids import TopicPartition
from simulation.contracts.contract import Broken, of_function, of_method
from simulation.contracts.storage.disks import content, is_spoilt, tree_of
from simulation.contracts.storage.durable import not_durable, written_offset
from simulation.contracts.storage.replayed import replayed, wrong_epochs, wrong_producers


@of_function(log_recovery.open_log)
def open_log(
    directory: PartitionFiles,
    config: LogConfig,
    known: KnownOffsets,
    *,
    now_ms: int,
    on_segments: Callable[[int], None] = lambda _: None,
) -> Generator[None, OpenedLog, Broken]:
    """A log that is opened is known as its batches have it: its end, producers and leader epochs.

    And only that counts as durable which is.
    """
    opened = yield
    log, segments = opened.log, opened.log.segments
    if log.recovery_point > log.log_end_offset:
        return f"{log.name} ends at {log.log_end_offset}, durable up to {log.recovery_point}"
    broken = not_durable(segments, log.recovery_point, log.log_end_offset)
    found = None if broken is not None else replayed(segments)
    if found is None:
        return broken
    end = max(found.end_offset, segments[-1].base_offset)
    if log.log_end_offset != end:
        return f"{log.name} ends at {log.log_end_offset}, its batches at {end}"
    return wrong_producers(
        opened.producers.snapshot_entries(),
        found,
        active_base=segments[-1].base_offset,
        end_offset=end,
    ) or wrong_epochs(opened.leader_epochs, found, log.log_start_offset)


@of_method(LogSegments, "cut")
def cut(segments: LogSegments, offset: int) -> Generator[None, ProducerStates, Broken]:
    """A log that is cut knows the producers that are left in it, and no later start others."""
    states = yield
    late = [known for known in segments._snapshots.offsets if known > offset]  # noqa: SLF001 -- as above
    if late:
        return f"{segments.directory.name} is cut at {offset}, its snapshots are {late}"
    found = replayed(segments.segments)
    if found is None:
        return None
    return wrong_producers(
        states.snapshot_entries(),
        found,
        active_base=segments.active.base_offset,
        end_offset=offset,
    )


@of_function(recovery.load_log_dir)
def load_log_dir(
    files: LogDirFiles,
    *,
    configs: Callable[[str], LogConfig],
    now_ms: int,
    progress: Callable[[LoadProgress], None],
) -> Generator[None, LoadedLogDir, Broken]:
    """A log dir in use is not marked as clean, and nothing is written as durable that is not.

    A crash would leave it so. Nor is anything written of logs that are gone: the next ones of
    their names are others.
    """
    loaded = yield
    tree = tree_of(files.disk)
    if tree is None:
        return None
    if CLEAN_SHUTDOWN_FILE in tree.children or (
        CLEAN_SHUTDOWN_FILE in tree.synced and not is_spoilt(tree, CLEAN_SHUTDOWN_FILE)
    ):
        return f"{files.disk.root} may be taken for clean after a crash"
    for found in loaded.logs:
        written = written_offset(tree, RECOVERY_POINT_CHECKPOINT, found.log.name)
        if written is not None and written > found.log.recovery_point:
            return f"{found.log.name}, durable up to {found.log.recovery_point}: {written} stands"
    here = [found.topic_partition for found in loaded.logs]
    return _written_of_others(tree, RECOVERY_POINT_CHECKPOINT, here) or _written_of_others(
        tree, LOG_START_OFFSET_CHECKPOINT, here
    )


def _written_of_others(tree: MemoryDir, checkpoint: str, here: Sequence[TopicPartition]) -> Broken:
    """Say of which logs a checkpoint speaks that are not here."""
    try:
        named = parse_offsets(content(tree, checkpoint) or b"")
    except CorruptCheckpoint:
        return None
    gone = [tp for tp in named if tp not in here]
    return f"{checkpoint} speaks of {gone}, here are {here}" if gone else None


@of_method(PartitionLog, "create")
def create(
    _: type[PartitionLog],
    files: LogDirFiles,
    name: str,
    config: LogConfig,
    *,
    now_ms: int,
    topic_id: bytes | None = None,
    log_start_offset: int = 0,
) -> Generator[None, PartitionLog, Broken]:
    """What was written of an older log is not taken for true of a new one after a crash."""
    yield
    tree = tree_of(files.disk)
    if tree is None:
        return None
    for checkpoint in (RECOVERY_POINT_CHECKPOINT, LOG_START_OFFSET_CHECKPOINT):
        written = written_offset(tree, checkpoint, name)
        if written is not None and written > log_start_offset:
            return f"{name} is made at {log_start_offset}, {checkpoint} says {written}"
    return None
