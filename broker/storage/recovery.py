"""Loading one log dir: its marker, its checkpoints and every log in it.

Log dirs know nothing of each other here.

Source: LogManager.loadLogs.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from broker.core.producers import ProducerStates
from broker.storage.batch_scan import CorruptBatch
from broker.storage.checkpoints import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    parse_offsets,
)
from broker.storage.files import LogDirFiles
from broker.storage.journal_checkpoint import (
    JOURNAL_CHECKPOINT,
    CorruptJournalCheckpoint,
    JournalCheckpoint,
    parse_journal_checkpoint,
)
from broker.storage.layout import (
    CLEAN_SHUTDOWN_FILE,
    PARTITION_METADATA_FILE,
    TEMPORARY_SUFFIX,
    BadDirName,
    DirKind,
    PartitionDirName,
    is_ignored_dir,
    parse_dir_name,
    parse_partition_metadata,
)
from broker.storage.log_recovery import KnownOffsets, open_log
from broker.storage.partition_log import PartitionLog
from broker.storage.segment import LogConfig
from broker.storage.segment_files import PartitionFiles
from broker.storage.shutdown import write_checkpoints
from broker.storage.swap import SwapNote, read_swap_note, remove_swap_note
from protocol.ids import TopicPartition
from protocol.ports import Disk

_LOGGER = logging.getLogger(__name__)
_SHOWN_BYTES_MAX = 80
"""Of a damaged file."""


class StartupRefused(Exception):  # noqa: N818 -- a decision, not a mistake
    """Something on the disks that a broker must not start over; an operator has to look."""


class LoadProgress(NamedTuple):
    """How far the loading of a log dir is."""

    logs_done: int
    logs_total: int
    segments_left: int = 0
    """Of the log that is loaded now: segments that are still to be checked."""

    @property
    def logs_left(self) -> int:
        """How many logs are still to be loaded, the present one included."""
        return self.logs_total - self.logs_done


@dataclass(slots=True, kw_only=True)
class LoadedLog:
    """A log found on disk, ready to be served."""

    topic_partition: TopicPartition
    log: PartitionLog
    is_future: bool
    topic_id: bytes | None
    """From ``partition.metadata``."""
    leader_epochs: list[tuple[int, int]]
    """(epoch, start offset), ascending."""
    producers: ProducerStates
    high_watermark: int
    """As checkpointed, within the log's bounds; the log start offset when it was not."""
    swap_note: SwapNote | None
    """Of a current log: its promotion was cut, the log named here may be there still."""
    is_left_over: bool = False
    """Of a current log: its promotion was cut, and the log that it replaced is gone.

    Either the swap had come that far, or the other one was deleted while this one was out of reach.
    """


@dataclass(slots=True, kw_only=True)
class LoadedLogDir:
    """What one log dir holds."""

    was_clean: bool
    logs: list[LoadedLog] = field(default_factory=list[LoadedLog])
    to_delete: list[str] = field(default_factory=list[str])
    """Names of directories that wait for their deletion; the delay counts from now."""
    strays: list[str] = field(default_factory=list[str])
    """Names of directories that are set aside for good."""
    missing: list[TopicPartition] = field(default_factory=list[TopicPartition])
    """The checkpoints know a log of these, and no directory is left of it."""
    journal: JournalCheckpoint = field(default_factory=JournalCheckpoint)
    """What it kept of the controller's journal."""


class _Checkpoints(NamedTuple):
    recovery_points: dict[TopicPartition, int]
    log_start_offsets: dict[TopicPartition, int]
    high_watermarks: dict[TopicPartition, int]
    cleaned: dict[TopicPartition, int] | None
    """How far logs are compacted; None when that is not known for sure."""

    @property
    def named(self) -> dict[TopicPartition, None]:
        """Every partition that one of them names."""
        named = (*self.recovery_points, *self.log_start_offsets, *self.high_watermarks)
        return dict.fromkeys(named)

    def whole_from(self, tp: TopicPartition) -> int | None:
        """Return from where on a log has no gaps by compaction, which follows its durable part."""
        if self.cleaned is None:
            return None
        return max(self.recovery_points.get(tp, 0), self.cleaned.get(tp, 0))


class _Known(NamedTuple):
    """What is known before a log is opened, and whom to tell how far it is."""

    checkpoints: _Checkpoints
    was_clean: bool
    on_segments: Callable[[int], None]


def load_log_dir(
    files: LogDirFiles,
    *,
    configs: Callable[[str], LogConfig],
    now_ms: int,
    progress: Callable[[LoadProgress], None],
) -> LoadedLogDir:
    """Load every log of a prepared log dir; a job without a deadline on the dir's own thread.

    ``configs`` gives a topic's configuration, ``progress`` is called on this thread before each log
    and each segment that is checked, and at the end. The clean shutdown marker is removed first, so
    that a crash while loading is noticed by the next start.

    Raises:
        StartupRefused: a directory that is no partition's, or two logs of one partition.
        OSError: the log dir is lost.
    """
    was_clean = _take_marker(files.disk)
    checkpoints = _read_checkpoints(files.disk)
    names = _without_half_made(files.disk, _list_partition_dirs(files.disk), checkpoints)
    loaded = LoadedLogDir(was_clean=was_clean, journal=_read_journal_checkpoint(files.disk))
    seen: dict[tuple[TopicPartition, DirKind], str] = {}
    for number, (name, parsed) in enumerate(names):
        progress(LoadProgress(number, len(names)))
        if parsed.kind is DirKind.DELETE:
            loaded.to_delete.append(name)
        elif parsed.kind is DirKind.STRAY:
            loaded.strays.append(name)
        else:
            _refuse_second(seen, name, parsed, files.disk.root)
            config = configs(parsed.topic_partition.topic)
            known = _Known(checkpoints, was_clean, _segment_progress(progress, number, len(names)))
            log = _load_log(files, name, config, known, now_ms=now_ms)
            loaded.logs.append(log)
    loaded.missing = _missing(checkpoints, [parsed for _, parsed in names])
    _settle_checkpoints(files.disk, loaded, checkpoints)
    progress(LoadProgress(len(names), len(names)))
    return loaded


def _without_half_made(
    disk: Disk, names: Sequence[tuple[str, PartitionDirName]], checkpoints: _Checkpoints
) -> list[tuple[str, PartitionDirName]]:
    """Remove logs whose making was cut as their log dir failed; return the others.

    The log was made in the next dir, or not at all: when its topic is gone nobody would delete it.
    One that a power cut left without any file had nothing durable, not even its directory's name.
    """
    known = checkpoints.named
    whole: list[tuple[str, PartitionDirName]] = []
    for name, parsed in names:
        is_new = parsed.kind is DirKind.CURRENT and parsed.topic_partition not in known
        if is_new and all(each.endswith(TEMPORARY_SUFFIX) for each in disk.list_dir(name)):
            _LOGGER.warning("%s/%s: removed, nothing is in it", disk.root, name)
            disk.remove_tree(name)
        else:
            whole.append((name, parsed))
    return whole


def _missing(
    checkpoints: _Checkpoints, present: Sequence[PartitionDirName]
) -> list[TopicPartition]:
    """Return the partitions whose logs somebody took away.

    Not those that were set aside: the checkpoints of before a crash may know them still.
    """
    known = {parsed.topic_partition: None for parsed in present}
    return [tp for tp in checkpoints.named if tp not in known]


def _settle_checkpoints(disk: Disk, loaded: LoadedLogDir, read: _Checkpoints) -> None:
    """Write the checkpoints anew when they say too much.

    A log that ends before its recovery point: what comes there is not synced. A log that is gone:
    the next one of its name is another one. And when there are none yet, so that the next start
    can tell a new log dir from a damaged one.
    """
    logs = loaded.logs
    known = {log.topic_partition: log.log for log in logs}
    has_fallen = any(
        log.recovery_point < read.recovery_points.get(tp, 0) for tp, log in known.items()
    )
    has_gone = any(tp not in known for tp in read.named)
    if has_fallen or has_gone or not disk.exists(RECOVERY_POINT_CHECKPOINT):
        write_loaded(disk, loaded)


def write_loaded(disk: Disk, loaded: LoadedLogDir) -> None:
    """Write the checkpoints of a log dir as it was loaded; what is missing stays known."""
    high_watermarks = dict.fromkeys(loaded.missing, 0)
    high_watermarks |= {log.topic_partition: log.high_watermark for log in loaded.logs}
    write_checkpoints(disk, {log.topic_partition: log.log for log in loaded.logs}, high_watermarks)


def _segment_progress(
    progress: Callable[[LoadProgress], None], number: int, total: int
) -> Callable[[int], None]:
    return lambda segments_left: progress(LoadProgress(number, total, segments_left))


def _take_marker(disk: Disk) -> bool:
    """Tell whether the dir was shut down cleanly, and remove the marker at once, for good.

    Whoever removed it may have been killed before that was durable: then a power cut would bring
    it back, to a dir that is in use. Source: KAFKA-10471.
    """
    was_clean = disk.exists(CLEAN_SHUTDOWN_FILE)
    if was_clean:
        disk.remove(CLEAN_SHUTDOWN_FILE)
    disk.sync_dir("")
    return was_clean


def _read_checkpoints(disk: Disk) -> _Checkpoints:
    """Read what is known of the logs; only damaged high watermarks cost the dir, as in Kafka."""
    return _Checkpoints(
        _read_forgiving(disk, RECOVERY_POINT_CHECKPOINT),
        _read_forgiving(disk, LOG_START_OFFSET_CHECKPOINT),
        _read_offsets(disk, REPLICATION_OFFSET_CHECKPOINT),
        _read_cleaned(disk),
    )


def _read_journal_checkpoint(disk: Disk) -> JournalCheckpoint:
    """Read what other log dirs have too; a damaged one costs nothing."""
    try:
        return parse_journal_checkpoint(disk.read_file(JOURNAL_CHECKPOINT))
    except FileNotFoundError:
        return JournalCheckpoint()
    except CorruptJournalCheckpoint as exc:
        _LOGGER.warning("%s: %s; the other log dirs are asked", disk.root, exc)
        return JournalCheckpoint()


def _read_cleaned(disk: Disk) -> dict[TopicPartition, int] | None:
    """Read the cleaner's offsets; without recovery points they do not say enough.

    A pass has the recovery points written before it changes a segment.
    """
    try:
        parse_offsets(disk.read_file(RECOVERY_POINT_CHECKPOINT))
        return _read_offsets(disk, CLEANER_OFFSET_CHECKPOINT)
    except OSError:
        return None


def _read_forgiving(disk: Disk, name: str) -> dict[TopicPartition, int]:
    try:
        return _read_offsets(disk, name)
    except OSError as exc:
        _LOGGER.warning("%s/%s: %s; all logs are taken from their start", disk.root, name, exc)
        return {}


def _read_offsets(disk: Disk, name: str) -> dict[TopicPartition, int]:
    try:
        return parse_offsets(disk.read_file(name))
    except FileNotFoundError:
        return {}


def _list_partition_dirs(disk: Disk) -> list[tuple[str, PartitionDirName]]:
    parsed: list[tuple[str, PartitionDirName]] = []
    for name in disk.list_dir(""):
        if is_ignored_dir(name) or not disk.is_dir(name):
            continue
        try:
            parsed.append((name, parse_dir_name(name)))
        except BadDirName as exc:
            raise StartupRefused(
                f"{disk.root}/{name} is no partition's directory; "
                "a log dir holds only Kafka's data: move it away"
            ) from exc
    return parsed


def _refuse_second(
    seen: dict[tuple[TopicPartition, DirKind], str], name: str, parsed: PartitionDirName, root: str
) -> None:
    key = (parsed.topic_partition, parsed.kind)
    if key in seen:
        raise StartupRefused(
            f"two logs of {parsed.topic_partition}: {root}/{seen[key]} and {root}/{name}; "
            "remove one"
        )
    seen[key] = name


def _load_log(
    files: LogDirFiles,
    name: str,
    config: LogConfig,
    known: _Known,
    *,
    now_ms: int,
) -> LoadedLog:
    checkpoints, was_clean, on_segments = known
    parsed = parse_dir_name(name)
    topic_partition = parsed.topic_partition
    offsets = KnownOffsets(
        recovery_point=checkpoints.recovery_points.get(topic_partition, 0),
        log_start_offset=checkpoints.log_start_offsets.get(topic_partition, 0),
        was_clean=was_clean,
        whole_from=checkpoints.whole_from(topic_partition),
    )
    note = _settle_note(files, name, parsed.kind)
    directory = PartitionFiles(files, name)
    try:
        opened = open_log(directory, config, offsets, now_ms=now_ms, on_segments=on_segments)
    except CorruptBatch as exc:
        raise OSError(errno.EIO, f"damaged before its recovery point: {exc}", name) from exc
    log = opened.log
    checkpointed = checkpoints.high_watermarks.get(topic_partition, 0)
    return LoadedLog(
        topic_partition=topic_partition,
        log=log,
        is_future=parsed.kind is DirKind.FUTURE,
        topic_id=_read_topic_id(files.disk, name),
        leader_epochs=opened.leader_epochs,
        producers=opened.producers,
        high_watermark=min(max(checkpointed, log.log_start_offset), log.log_end_offset),
        swap_note=note,
    )


def _settle_note(files: LogDirFiles, name: str, kind: DirKind) -> SwapNote | None:
    """Return the note of a promoted log.

    A future log was not promoted yet: its move just goes on.
    """
    note = read_swap_note(files, name)
    if note is not None and kind is DirKind.FUTURE:
        remove_swap_note(files, name)
        return None
    return note


def _read_topic_id(disk: Disk, name: str) -> bytes | None:
    """Return the topic's id; None where the controller's next LeaderAndIsr is to tell it.

    A power cut may leave an empty file, which says nothing; other damage is told.
    """
    try:
        data = disk.read_file(f"{name}/{PARTITION_METADATA_FILE}")
    except FileNotFoundError:
        return None
    topic_id = parse_partition_metadata(data)
    if topic_id is None and data:
        _LOGGER.warning(
            "%s/%s/%s: %r names no topic id: the log is taken for that of the topic which the "
            "controller names, and the file is written anew",
            disk.root,
            name,
            PARTITION_METADATA_FILE,
            data[:_SHOWN_BYTES_MAX],
        )
    return topic_id
