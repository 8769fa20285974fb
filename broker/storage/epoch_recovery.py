"""The leader epochs of a log that is opened: from their file, or from the batches when it is wrong.

The file is replaced without a sync, so after a power cut it may be lost, damaged, or of another age
than the batches. It decides nothing about the batches.

Source: LogLoader.scala, UnifiedLog.scala maybeCreateLeaderEpochCache; KAFKA-16541.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Final

from broker.core.leader_epochs import LeaderEpochs
from broker.storage.batch_scan import CorruptBatch, scan_headers, until_two_agree
from broker.storage.checkpoints import CorruptCheckpoint, parse_leader_epochs
from broker.storage.layout import LEADER_EPOCH_FILE
from broker.storage.log_reader import segment_number
from broker.storage.partition_log import PartitionLog
from broker.storage.segment import Segment
from broker.storage.segment_files import PartitionFiles
from protocol.ids import NO_EPOCH
from protocol.records.batch import BatchHeader

_CHUNK_BYTES: Final = 8 << 10
"""A few batches are looked at in each place."""
_LOGGER = logging.getLogger(__name__)


def read_epochs(directory: PartitionFiles) -> list[tuple[int, int]] | None:
    """Return the (epoch, start offset) of the file, ascending; None when it is lost or damaged."""
    name = directory.path(LEADER_EPOCH_FILE)
    try:
        data = directory.files.disk.read_file(name)
        return parse_leader_epochs(data) if data else None
    except FileNotFoundError:
        return None
    except CorruptCheckpoint as exc:
        _LOGGER.warning("%s: %s; read from the log again", name, exc)
        return None


def settle_epochs(
    log: PartitionLog,
    stored: list[tuple[int, int]] | None,
    recovered: LeaderEpochs,
    *,
    is_trusted: bool,
) -> list[tuple[int, int]]:
    """Return the leader epochs of an opened log; write them when the file says something else.

    ``recovered`` are those of the file as the batches that were checked correct them. They are held
    against the batches unless ``is_trusted`` (after a clean stop), and found anew when the file was
    lost or they do not agree. Nothing is written for an empty log: its file is written anew with
    its first batch.

    Raises:
        CorruptBatch: what stands in a file is no batch, however often it is read.
    """
    epochs = recovered if log.size_bytes > 0 else LeaderEpochs(stored or ())
    _keep_within(epochs, log)
    is_lost = stored is None or not epochs.entries
    if log.size_bytes > 0 and (is_lost or not (is_trusted or _agree(epochs, log))):
        epochs = _epochs_surely(log.segments)
        _keep_within(epochs, log)
    entries = [(entry.epoch, entry.start_offset) for entry in epochs.entries]
    if entries != stored and log.size_bytes > 0:
        log.write_leader_epochs(entries)
    return entries


def _keep_within(epochs: LeaderEpochs, log: PartitionLog) -> None:
    epochs.forget_empty(log.log_start_offset, log.log_end_offset)
    epochs.truncate_from_start(log.log_start_offset)


def _agree(epochs: LeaderEpochs, log: PartitionLog) -> bool:
    """Tell whether the batches on both sides of each epoch's start, and the last one, have it.

    Epochs never fall within a log, so what lies between is right, too.
    """
    for header in _batches_at_starts(epochs, log):
        epoch = epochs.epoch_at(max(header.base_offset, log.log_start_offset))
        if header.partition_leader_epoch not in {epoch, NO_EPOCH}:
            _LOGGER.warning("%s: the leader epochs are not those of the batches", log.name)
            return False
    return True


def _batches_at_starts(epochs: LeaderEpochs, log: PartitionLog) -> Iterator[BatchHeader]:
    starts = [entry.start_offset for entry in epochs.entries]
    for start in starts:
        if log.log_start_offset <= start < log.log_end_offset:
            yield from _batch_at(log.segments, start)
    for start in (*starts, log.log_end_offset):
        if log.log_start_offset < start <= log.log_end_offset:
            yield from _batch_before(log.segments, start)


def _batch_at(segments: Sequence[Segment], offset: int) -> Iterator[BatchHeader]:
    """Give the batch of ``offset`` or the next one in its segment; none behind the last."""
    found = segments[segment_number(segments, offset)].locate(offset)
    if found is not None:
        yield found[1]


def _batch_before(segments: Sequence[Segment], offset: int) -> Iterator[BatchHeader]:
    """Give the last batch that begins before ``offset``: compaction may have left none right there.

    None where all begin behind it.
    """
    number = segment_number(segments, offset - 1)
    for segment in reversed(segments[: number + 1]):
        last: BatchHeader | None = None
        start = segment.offset_index.position_before(offset - 1)
        file, end = segment.file(), segment.size_bytes
        for _, header in scan_headers(file, start, end, chunk_bytes=_CHUNK_BYTES):
            if header.base_offset >= offset:
                break
            last = header
        if last is not None:
            yield last
            return


def _epochs_surely(segments: Sequence[Segment]) -> LeaderEpochs:
    """Return where epochs begin, as two looks agree.

    No sum guards the leader epoch and the base offset of a batch, which a disk may misread.
    """

    def forget(damage: CorruptBatch | None) -> None:
        if damage is not None:
            _LOGGER.warning("%s: read again: %s", segments[0].directory.name, damage)
        for segment in segments:
            segment.file().forget(0)

    return LeaderEpochs(until_two_agree(lambda: _epochs_of_batches(segments).entries, forget))


def _epochs_of_batches(segments: Sequence[Segment]) -> LeaderEpochs:
    """Return where epochs begin: behind the batch before, as ``LogPositions.note_epochs``."""
    epochs = LeaderEpochs()
    end_offset = segments[0].base_offset
    for segment in segments:
        for _, header in scan_headers(segment.file(), 0, segment.size_bytes):
            if header.partition_leader_epoch > epochs.latest:
                epochs.assign(header.partition_leader_epoch, end_offset)
            end_offset = header.next_offset
    return epochs
