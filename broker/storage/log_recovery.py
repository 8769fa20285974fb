"""Opening one log that is on disk: leftovers, lost or damaged files, torn tails.

Batches before the recovery point are trusted. It decides per log; which logs a dir holds is
`recovery`'s.

Source: LogLoader.scala, LogSegment.recover.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from broker.core.leader_epochs import LeaderEpochs
from broker.core.producers import ProducerStates
from broker.storage.batch_scan import LOOKS_MAX, CorruptBatch, MisplacedBatch, scan_headers
from broker.storage.dropped_segments import drop_from, why_misplaced
from broker.storage.epoch_recovery import read_epochs, settle_epochs
from broker.storage.indexes import (
    AbortedTransaction,
    CorruptIndex,
    aborted_entry,
    check_aborted,
)
from broker.storage.layout import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    TEMPORARY_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    parse_segment_file_name,
)
from broker.storage.log_reader import segment_number
from broker.storage.partition_log import PartitionLog
from broker.storage.segment import LogConfig, Segment
from broker.storage.segment_files import PartitionFiles
from broker.storage.snapshots import Snapshots, aborted_in
from protocol.ids import NO_EPOCH
from protocol.records.batch import BatchHeader

_LOGGER = logging.getLogger(__name__)
_INDEX_SUFFIXES: Final = frozenset(
    {OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX}
)
_LEFTOVERS: Final = (DELETED_SUFFIX, CLEANED_SUFFIX, TEMPORARY_SUFFIX)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownOffsets:
    """What the checkpoints of the dir say about a log."""

    recovery_point: int = 0
    log_start_offset: int = 0
    was_clean: bool = False
    """Whether the dir was shut down cleanly: then everything in it is taken to be whole."""
    whole_from: int | None = None
    """From here on the log was never compacted: segments follow each other without a gap.

    None when it is not known.
    """


@dataclass(frozen=True, slots=True)
class OpenedLog:
    """A log that is ready, and what its files say beside the batches."""

    log: PartitionLog
    leader_epochs: list[tuple[int, int]]
    producers: ProducerStates


def _ignore(_segments_left: int) -> None:
    return None


def open_log(
    directory: PartitionFiles,
    config: LogConfig,
    known: KnownOffsets,
    *,
    now_ms: int,
    on_segments: Callable[[int], None] = _ignore,
) -> OpenedLog:
    """Open the log in ``directory``; what is damaged behind the recovery point is cut off.

    ``on_segments`` is told how many segments are left before each one that is checked.

    Raises:
        CorruptBatch: what is damaged lies before it, where nobody cuts: it was durable once.
    """
    bases, with_transactions, snapshots = _list_files(directory, _settle_leftovers(directory))
    segments = [_existing(directory, base, config, now_ms) for base in bases]
    if not segments:
        segments = [Segment(directory, known.log_start_offset, config, created_ms=now_ms)]
    stored_epochs = read_epochs(directory)
    epochs = LeaderEpochs(stored_epochs or ())
    end = producers = None
    if known.was_clean:
        end = _restore_tail(segments[-1], known.recovery_point)
    if end is None:
        first = segment_number(segments, known.recovery_point)
        checked = _Checked(segments, first, known.whole_from)
        end, producers = _recover_surely(checked, snapshots, epochs, on_segments)
    _mend_transactions(segments, with_transactions, snapshots)
    snapshots.remove_above(end)
    snapshots.keep_of_segments([segment.base_offset for segment in segments])
    if producers is None:
        producers = snapshots.load(segments, end)
    log = PartitionLog(directory, config, segments, producers, snapshots)
    log.restore_offsets(
        log_start_offset=max(known.log_start_offset, segments[0].base_offset),
        log_end_offset=end,
        # The log that a move was about to leave was not closed with the others of its dir.
        recovery_point=min(known.recovery_point, end),
        was_clean=known.was_clean,
    )
    if end < log.log_start_offset:
        log.truncate_fully_and_start_at(known.log_start_offset, now_ms=now_ms)
        producers.clear()
    entries = settle_epochs(log, stored_epochs, epochs, is_trusted=known.was_clean)
    return OpenedLog(log, entries, producers)


def _settle_leftovers(directory: PartitionFiles) -> list[str]:
    """Finish or drop what compaction and deletion left; return the names that are there then.

    Source: LogLoader.removeTempFilesAndCollectSwapFiles.
    """
    disk = directory.files.disk
    names = disk.list_dir(directory.name)
    cleaned = [base for name in names if (base := _base_of(name, CLEANED_SUFFIX)) is not None]
    swaps = [name for name in names if name.endswith(SWAP_SUFFIX)]
    bases = {name: _base_of(name, SWAP_SUFFIX) for name in swaps}
    dropped = {n for n in swaps if (base := bases[n]) is None or (cleaned and base >= min(cleaned))}
    gone = [name for name in names if name.endswith(_LEFTOVERS) or name in dropped]
    for name in gone:
        disk.remove(directory.path(name))
    finished = [name for name in swaps if name not in dropped]
    if finished:
        _finish_compaction(directory, names, finished)
    return disk.list_dir(directory.name) if gone or finished else names


def _finish_compaction(
    directory: PartitionFiles, names: Sequence[str], swaps: Sequence[str]
) -> None:
    """Put swapped-in segments in place of those whose offsets they cover."""
    disk = directory.files.disk
    for swap in swaps:
        base = _base_of(swap, LOG_SUFFIX + SWAP_SUFFIX)
        if base is None:
            continue
        end = _end_of_file(directory, swap, base)
        covered = [name for name in names if _is_segment_file(name, base, end)]
        for name in covered:
            disk.remove(directory.path(name))
    for swap in swaps:
        disk.rename(directory.path(swap), directory.path(swap.removesuffix(SWAP_SUFFIX)))
    disk.sync_dir(directory.name)


def _is_segment_file(name: str, base: int, end: int) -> bool:
    parsed = parse_segment_file_name(name)
    return (
        parsed is not None
        and base <= parsed[0] < end
        and (parsed[1] == LOG_SUFFIX or parsed[1] in _INDEX_SUFFIXES)
    )


def _end_of_file(directory: PartitionFiles, name: str, base: int) -> int:
    file = directory.files.disk.open(directory.path(name), create=False)
    end = base + 1
    try:
        for _, header in scan_headers(file, 0, file.size()):
            end = header.next_offset
    except CorruptBatch as exc:
        _LOGGER.warning("%s: %s", directory.path(name), exc)
    finally:
        file.close()
    return end


def _base_of(name: str, suffix: str) -> int | None:
    """Return the base offset of a segment file that has ``suffix`` at its end."""
    if not name.endswith(suffix) or not name[:20].isdecimal():
        return None
    return int(name[:20])


def _list_files(
    directory: PartitionFiles, names: Sequence[str]
) -> tuple[list[int], frozenset[int], Snapshots]:
    """Return base offsets, those with a transaction index, and snapshots.

    Index files without a segment are removed.
    """
    disk = directory.files.disk
    parsed = [(name, parse_segment_file_name(name)) for name in names]
    bases = [file[0] for _, file in parsed if file and file[1] == LOG_SUFFIX]
    snapshots = [file[0] for _, file in parsed if file and file[1] == SNAPSHOT_SUFFIX]
    known = frozenset(bases)
    for name, file in parsed:
        if file and file[1] in _INDEX_SUFFIXES and file[0] not in known:
            disk.remove(directory.path(name))
    aborts = [file[0] for _, file in parsed if file and file[1] == TRANSACTION_INDEX_SUFFIX]
    return bases, known.intersection(aborts), Snapshots(directory, snapshots)


def _existing(directory: PartitionFiles, base: int, config: LogConfig, now_ms: int) -> Segment:
    segment = Segment(directory, base, config, created_ms=now_ms)
    segment.open_existing(directory.files.disk.size(directory.of_segment(base, LOG_SUFFIX)))
    return segment


def _restore_tail(segment: Segment, recovery_point: int) -> int | None:
    """Return the end of a log that was closed cleanly, which is its recovery point.

    Where it seems to be another one the last segment is read again, as a last batch is in
    ``scan_batches``. None when it is damaged all the same.
    """
    try:
        end = segment.restore_tail()
        if end == recovery_point:
            return end
        segment.file().forget(0)
        return segment.restore_tail()
    except CorruptBatch as exc:
        _LOGGER.warning("%s: damaged after a clean shutdown: %s", segment.directory.name, exc)
        return None


class _Checked(NamedTuple):
    """The segments of a log that are checked."""

    segments: list[Segment]
    first: int
    """Number of the first one to be checked."""
    whole_from: int | None
    """From here on segments follow each other without a gap; None when it is not known."""


def _recover_surely(
    checked: _Checked,
    snapshots: Snapshots,
    epochs: LeaderEpochs,
    on_segments: Callable[[int], None],
) -> tuple[int, ProducerStates]:
    """Cut nothing that another look finds to be whole: a read may have failed, and not the disk.

    What two looks in turn complain of is cut off, or what the last of ``LOOKS_MAX`` does. A single
    batch is read twice where it is scanned. Differs from Kafka, which cuts at once.
    """
    complaint = ""
    for _ in range(LOOKS_MAX - 1):
        try:
            return _recover(checked, snapshots, epochs, on_segments, is_sure=complaint.__eq__)
        except MisplacedBatch as exc:
            complaint = str(exc)
            segments = checked.segments[checked.first :]
            _LOGGER.warning("%s: read again: %s", segments[0].directory.name, exc)
            for segment in segments:
                segment.file().forget(0)
    return _recover(checked, snapshots, epochs, on_segments, is_sure=lambda _: True)


def _recover(
    checked: _Checked,
    snapshots: Snapshots,
    epochs: LeaderEpochs,
    on_segments: Callable[[int], None],
    *,
    is_sure: Callable[[str], bool],
) -> tuple[int, ProducerStates]:
    """Check every batch from the segment of the recovery point on.

    Cut at the first bad one. Return the end of the log and the producers there.

    Raises:
        MisplacedBatch: unless ``is_sure`` of what it says, so that such a one is cut off, too.
    """
    segments, first, _ = checked
    end = segments[first].base_offset
    snapshots.remove_above(end)
    epochs.truncate_from_end(end)
    producers = snapshots.load(segments[:first], end)
    found = LeaderEpochs()
    for number in range(first, len(segments)):
        segment = segments[number]
        on_segments(len(segments) - number)
        if number > first:
            reason = why_misplaced(segment.base_offset, end, checked.whole_from)
            if reason is not None:
                misplaced = MisplacedBatch(0, reason)
                if not is_sure(str(misplaced)):
                    raise misplaced
                _drop(segments, number, reason)
                break
            snapshots.take(segment.base_offset, producers)
        try:
            is_active = number == len(segments) - 1
            end = _recover_segment(segment, producers, found, is_active=is_active)
        except CorruptBatch as exc:
            if isinstance(exc, MisplacedBatch) and not is_sure(str(exc)):
                raise
            end = _cut(segments, number, exc)
            break
    for epoch, start_offset in found.entries:
        if epoch != epochs.latest:
            epochs.assign(epoch, start_offset)
    return end, producers


def _recover_segment(
    segment: Segment, producers: ProducerStates, epochs: LeaderEpochs, *, is_active: bool
) -> int:
    """Check the batches of one segment; ``epochs`` are those of the batches checked before.

    An older epoch after a newer one is what a cut log leaves when the removal of its old segments
    was not durable.
    """
    aborted: list[AbortedTransaction] = []
    next_offset = segment.base_offset

    def check(header: BatchHeader, batch: memoryview) -> str | None:
        nonlocal next_offset
        if NO_EPOCH < header.partition_leader_epoch < epochs.latest:
            return f"leader epoch {header.partition_leader_epoch} after {epochs.latest}"
        if header.partition_leader_epoch > epochs.latest:
            epochs.assign(header.partition_leader_epoch, next_offset)
        if header.producer_id >= 0:
            ended = producers.note(header, batch, 0)
            if ended is not None and ended.is_aborted:
                aborted.append(aborted_entry(ended))
        next_offset = header.next_offset
        return None

    try:
        end = segment.size_bytes
        return segment.rebuild(end, verify=True, check=check, is_active=is_active)
    except CorruptBatch as damage:
        damage.next_offset = next_offset
        raise
    finally:
        segment.replace_transactions(aborted)


def _mend_transactions(
    segments: Sequence[Segment], bases: frozenset[int], snapshots: Snapshots
) -> None:
    """Build damaged transaction indexes anew. Source: LogSegment.sanityCheck."""
    for number, segment in enumerate(segments):
        if segment.base_offset not in bases:
            continue
        try:
            check_aborted(segment.base_offset, segment.files.read(TRANSACTION_INDEX_SUFFIX))
        except CorruptIndex as exc:
            _LOGGER.warning(
                "%s: transactions of segment %d are read from the log again: %s",
                segment.directory.name,
                segment.base_offset,
                exc,
            )
            producers = snapshots.load(segments[:number], segment.base_offset)
            segment.replace_transactions(aborted_in(segment, producers))


def _drop(segments: list[Segment], number: int, reason: str) -> None:
    """Drop the segments from ``number`` on."""
    count = len(segments) - number
    name = segments[number].directory.name
    _LOGGER.warning("%s: %s: %d segments dropped", name, reason, count)
    drop_from(segments, number)


def _cut(segments: list[Segment], number: int, damage: CorruptBatch) -> int:
    """Cut a segment where it is damaged and drop those behind it; return the end of the log.

    It is known from the batches that were checked: what is read again may be misread then.
    """
    segment = segments[number]
    _LOGGER.warning(
        "%s: segment %d cut from %d to %d bytes, %d segments behind it dropped: %s",
        segment.directory.name,
        segment.base_offset,
        segment.size_bytes,
        damage.position,
        len(segments) - number - 1,
        damage,
    )
    drop_from(segments, number + 1)
    segment.cut_file(damage.position)
    return damage.next_offset
