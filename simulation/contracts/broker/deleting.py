"""What is promised of deleted records, and of what a log leaves when it goes or moves.

What is deleted does not come back, what is not committed is not deleted, and nothing that was true
of a log is taken for true of the one in its place.
Source: Partition.scala deleteRecordsOnLeader, LogManager.scala cleanupLogs, asyncDelete and
replaceCurrentWithFutureLog; KIP-107, KIP-113.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import Generator
from functools import partial
from types import MethodType

from broker.core.delayed import DelayedProduce
from broker.core.leader_epochs import EpochEntry
from broker.core.log_dirs import LogDirFailed
from broker.core.log_positions import LogPositions
from broker.core.retention import RetentionLimits
from broker.engine.control.failures import Failures
from broker.engine.control.leadership import Leadership
from broker.engine.follow.fetcher import Fetcher
from broker.engine.hosted_log import HostedLog
from broker.engine.log.cleaning import Cleaner, _Target
from broker.engine.log.deletions import Deletions
from broker.engine.log.log_start_writes import LogStartWrites
from broker.engine.log.retention import Retention
from broker.engine.move.moving import MovingLog
from broker.engine.replica import Replica
from broker.engine.serve.record_deletion import RecordDeletions
from broker.storage.checkpoints import (
    LOG_START_OFFSET_CHECKPOINT,
    CorruptCheckpoint,
    parse_leader_epochs,
    parse_offsets,
)
from broker.storage.cleaner import CleaningPass
from broker.storage.files import LogDirFiles
from broker.storage.layout import LEADER_EPOCH_FILE
from broker.storage.log_dir import LogDir
from broker.storage.partition_log import PartitionLog
from protocol.configs.topic import TopicConfig
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.ports import Disk
from simulation.contracts.broker.hosted_logs import deletions_overdue
from simulation.contracts.contract import Broken, of_method
from simulation.contracts.storage.disks import content, durable, is_spoilt, tree_of


def kept_log_start(disk: Disk, tp: TopicPartition, files: PartitionLog) -> int | None:
    """Return where a log is sure to begin after a power cut; None where nobody can tell."""
    tree = tree_of(disk)
    if tree is None or is_spoilt(tree, LOG_START_OFFSET_CHECKPOINT):
        return None
    try:
        written = parse_offsets(durable(tree, LOG_START_OFFSET_CHECKPOINT) or b"")
    except CorruptCheckpoint:
        return None
    return max(written.get(tp, 0), files.segments[0].base_offset)


@of_method(RecordDeletions, "_begin")
def begin(
    deletions: RecordDeletions,
    tp: TopicPartition,
    offset: int,
    delayed: DelayedProduce,
    index: int,
    *,
    is_empty_enough: bool,
) -> Generator[None, int, Broken]:
    """A deletion is answered once all that may lead have it, and waited for until then."""
    replica = deletions._state.hosted.online_replica(tp)  # noqa: SLF001 -- nothing public has it
    wanted = replica.partition.high_watermark if replica and offset < 0 else offset
    yield
    if replica is None or delayed.codes[index] not in {None, ErrorCode.NONE}:
        return None
    is_done = replica.low_watermark >= wanted
    if (delayed.codes[index] is ErrorCode.NONE) is is_done:
        return None
    return f"{tp} is deleted up to {wanted}, answered is {delayed.codes}, done is {is_done}"


@of_method(Leadership, "_look_at_high_watermarks")
def look_at_high_watermarks(leadership: Leadership) -> Generator[None, None, Broken]:
    """When a broker is gone nobody waits for it any more, but for a member of the Isr."""
    yield
    for _, replica in leadership.state.hosted.iterate_online():
        if broken := deletions_overdue(replica):
            return broken
    return None


@of_method(LogStartWrites, "_end")
def end_of_write(
    writes: LogStartWrites, log_dir: LogDir, asked: asyncio.Future[bool], *, is_written: bool
) -> Generator[None, None, Broken]:
    """Who asks while log starts are being written has them written again."""
    yield
    is_asked = log_dir.path in writes._asked  # noqa: SLF001 -- nothing public has it
    if is_asked is not (log_dir.path in writes._writing):  # noqa: SLF001 -- as above
        return f"the log starts of {log_dir.path} are asked for: {is_asked}, and not written so"
    return None


@of_method(Replica, "_on_log_start_written")
def on_log_start_written(
    replica: Replica, written: asyncio.Future[bool]
) -> Generator[None, None, Broken]:
    """A deletion counts when a power cut does not bring back what was deleted.

    Then a follower's leader is to hear of it: who deletes waits for all replicas.
    """
    yield
    if replica.log_start_write is not None or replica.is_ended or not written.result():
        return None
    start = replica.partition.log_start_offset
    kept = kept_log_start(replica.log.dir.disk, replica.tp, replica.log.files)
    if kept is not None and kept < start:
        return f"{replica.tp} begins at {start}, after a power cut at {kept}"
    return _untold(replica)


def _untold(replica: Replica) -> Broken:
    """Say that the next fetch from the leader will not name a follower's log start."""
    tell = replica.tell_log_start
    method = tell.func if isinstance(tell, partial) else None
    if not isinstance(method, MethodType) or not isinstance(fetcher := method.__self__, Fetcher):
        return None
    key = (replica.topic_id, replica.tp.partition)
    named = (fetcher._told_again, fetcher._changed)  # noqa: SLF001 -- nothing public has it
    is_fetched = key in fetcher._ready  # noqa: SLF001 -- as above
    if not is_fetched or any(key in one for one in named):
        return None
    return f"{replica.tp} begins at {replica.partition.log_start_offset}, its leader is not told"


@of_method(Replica, "log_start_rose")
def log_start_rose(
    replica: Replica, before: int, written: asyncio.Future[bool]
) -> Generator[None, None, Broken]:
    """Until a deletion is written down no more counts as deleted than what was before."""
    yield
    kept = kept_log_start(replica.log.dir.disk, replica.tp, replica.log.files)
    if kept is None or replica.log_start_write is None or replica.kept_log_start <= kept:
        return None
    return f"{replica.tp} counts as deleted up to {replica.kept_log_start}, written is {kept}"


@of_method(MovingLog, "_point_to_promoted")
def point_to_promoted(
    moving: MovingLog, source: object, written_epochs: list[EpochEntry]
) -> Generator[None, None, Broken]:
    """A log that has moved is as it was: its begin, leader epochs, settings, and what is compacted.

    Each log dir writes down for itself where its logs begin, and how far they are compacted.
    """
    replica, state = moving._replica, moving._state  # noqa: SLF001 -- nothing public has it
    is_kept = replica.log_start_write is None
    start = replica.partition.log_start_offset if is_kept else replica.kept_log_start
    cleaned = state.cleaner_offsets.get(replica.log_dir, replica.tp)
    before, config = replica.log_dir, replica.log.files.config
    yield
    kept = kept_log_start(replica.log.dir.disk, replica.tp, replica.log.files)
    if kept is not None and kept < start:
        return f"{replica.tp} moved to {replica.log_dir}, begins at {start}, written is {kept}"
    offsets = state.cleaner_offsets
    there = (offsets.get(before, replica.tp), offsets.get(replica.log_dir, replica.tp))
    if there != (None, cleaned):
        return f"{replica.tp} is compacted up to {cleaned}, after its move known is {there}"
    if replica.log.files.config != config:
        return f"{replica.tp} moved, and is written by {replica.log.files.config}, not {config}"
    return _forgets_epochs(replica)


def _forgets_epochs(replica: Replica) -> Broken:
    """Say that a log's directory does not have its leader epochs, and is not about to."""
    log, tree = replica.log, tree_of(replica.log.dir.disk)
    if tree is None:
        return None
    data = content(tree, f"{log.files.name}/{LEADER_EPOCH_FILE}")
    try:
        written = [] if data is None else parse_leader_epochs(data)
    except CorruptCheckpoint:
        return None
    known = [tuple(entry) for entry in replica.partition.epochs.entries]
    due = [getattr(each, "operation", "") for each in log.queue._queue]  # noqa: SLF001 -- as above
    if written == known or "write leader epochs" in due:
        return None
    return f"{replica.tp} moved with leader epochs {known}, {written} stand in its directory"


@of_method(Deletions, "_rename")
def rename(
    deletions: Deletions,
    tp: TopicPartition,
    log: HostedLog[LogPositions],
    name: str,
) -> Generator[None, asyncio.Future[None], Broken]:
    """Of a log that goes nobody says any more how far it is compacted."""
    offsets = deletions._state.cleaner_offsets  # noqa: SLF001 -- as above
    try:
        yield
    except LogDirFailed:
        return None
    known = offsets.get(log.log_dir, tp)
    return None if known is None else f"{name} in {log.log_dir}: {tp} is compacted up to {known}"


@of_method(Failures, "on_log_dir_failed")
def on_log_dir_failed(failures: Failures, failure: LogDirFailed) -> Generator[None, None, Broken]:
    """What was true of the logs of a log dir is not known of those that it comes back with."""
    state, path = failures.state, failure.log_dir
    yield
    left = state.cleaner_offsets.offsets_of(path) or state.cleaner_offsets.uncleanable(path)
    if left or state.rebuilds.view(path) is not None:
        return f"{path} failed; still known: {left}, {state.rebuilds.view(path)}"
    return None


@of_method(Retention, "_limits")
def limits(
    _: Retention, replica: Replica, config: TopicConfig
) -> Generator[None, RetentionLimits, Broken]:
    """Retention lets nothing go that is not committed."""
    told = yield
    committed = replica.partition.high_watermark
    if told.high_watermark > committed:
        return f"{replica.tp} has {committed} committed, {told.high_watermark} may go"
    if told.log_start_offset > replica.partition.log_start_offset:
        return f"{replica.tp} begins at {replica.partition.log_start_offset}: {told}"
    is_of_topic = told.retention_ms == config.retention_ms
    is_of_topic = is_of_topic and told.retention_bytes == config.retention_bytes
    return None if is_of_topic else f"{told} of {replica.tp}, its topic has {config}"


@of_method(Retention, "look")
def look(retention: Retention, replica: Replica) -> Generator[None, object, Broken]:
    """Of a log that is copied or compacted nothing goes meanwhile."""
    pauses = retention._state.cleaning_pauses  # noqa: SLF001 -- as above
    is_paused = pauses.is_paused(replica.tp)
    yield
    return f"{replica.tp} is looked at while it moves" if is_paused else None


@of_method(Cleaner, "_stands")
def stands(cleaner: Cleaner, target: _Target) -> Generator[None, bool, Broken]:
    """What is compacted is the log that was looked at, as it was then, and nobody copies it."""
    may = yield
    replica, log = target.replica, target.replica.log
    if not may:
        return None
    is_same = log.files is target.files and log.is_still(target.token)
    if replica.is_ended or not is_same or log.dir is not cleaner._log_dir:  # noqa: SLF001 -- as above
        return f"{replica.tp} is compacted in {target.log_dir.path}, it is in {replica.log_dir}"
    return f"{replica.tp} is compacted while it moves" if replica.future is not None else None


@of_method(Cleaner, "_work")
def work(
    cleaner: Cleaner, target: _Target, cleaning: CleaningPass
) -> Generator[None, bool, Broken]:
    """What counts as compacted was gone through, and is the log still that was looked at."""
    is_finished = yield
    if not is_finished or (cleaning.is_done and cleaner._stands(target)):  # noqa: SLF001 -- as above
        return None
    return f"{target.replica.tp} counts as compacted up to {cleaning.end_offset}"


@of_method(LogDirFiles, "close_below")
def close_below(files: LogDirFiles, dir_name: str) -> Generator[None, None, Broken]:
    """What is forgotten of one log is forgotten of no other: theirs is still to be synced."""
    others = [name for name in files._unsynced if name.partition("/")[0] != dir_name]  # noqa: SLF001
    yield
    left = list(files._unsynced)  # noqa: SLF001 -- as above
    return None if left == others else f"{dir_name} is closed: {left} are unsynced, not {others}"
