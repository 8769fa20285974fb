"""The batches of a log as a disk has them, and what they say of producers and leader epochs.

It begins at the first batch that is left, so of what went before it knows nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from broker.core.leader_epochs import LeaderEpochs
from broker.core.producer_entry import ProducerEntry
from broker.core.producers import ProducerStates
from broker.storage.layout import LOG_SUFFIX
from broker.storage.segment import Segment
from protocol.errors import Malformed
from protocol.ids import NO_EPOCH, NO_OFFSET
from protocol.records.batch import BatchHeader
from protocol.records.entries import check_stored_crc, iterate_stored_batches
from simulation.contracts.contract import Broken
from simulation.contracts.storage.disks import content, tree_of


class Replayed(NamedTuple):
    """A log as its batches tell it."""

    batches: tuple[BatchHeader, ...]
    producers: dict[int, ProducerEntry]

    @property
    def end_offset(self) -> int:
        """Behind the last batch; -1 without one."""
        return self.batches[-1].next_offset if self.batches else NO_OFFSET


def replayed(segments: Sequence[Segment]) -> Replayed | None:
    """Read a log; None where a disk is damaged, or has faults."""
    batches: list[BatchHeader] = []
    states = ProducerStates(batches_kept=1)
    for segment in segments:
        data = _data_of(segment)
        if data is None:
            return None
        try:
            for position, header in iterate_stored_batches(data):
                if not check_stored_crc(data, position, header):
                    return None
                batches.append(header)
                if header.producer_id >= 0:
                    states.note(header, data, position)
        except Malformed:
            return None
    return Replayed(tuple(batches), {one.producer_id: one for one in states.snapshot_entries()})


def _data_of(segment: Segment) -> bytes | None:
    if segment.size_bytes == 0:
        return b""
    tree = tree_of(segment.directory.files.disk)
    data = None if tree is None else content(tree, segment.files.name(LOG_SUFFIX))
    return None if data is None else data[: segment.size_bytes]


def wrong_producers(
    known: Sequence[ProducerEntry], log: Replayed, *, active_base: int, end_offset: int
) -> Broken:
    """Say which producers of a log are not known as its batches have them.

    One that is idle is forgotten, its batches are not; those of the active segment are read at
    each start. Of an older one compaction may have left less than is known.
    """
    found = {one.producer_id: one for one in known}
    for one in known:
        if one.last_offset >= end_offset:
            return f"a log up to {end_offset} has {one}"
    for producer_id, wanted in log.producers.items():
        one = found.get(producer_id)
        if one is None:
            if wanted.last_offset >= active_base:
                return f"nobody knows {wanted}"
        elif not _agree(one, wanted):
            return f"its batches say {wanted}, known is {one}"
    return None


def _agree(known: ProducerEntry, wanted: ProducerEntry) -> bool:
    if known.producer_epoch != wanted.producer_epoch:
        return known.producer_epoch > wanted.producer_epoch
    is_left_open = wanted.transaction_first_offset != NO_OFFSET
    if is_left_open and known.transaction_first_offset == NO_OFFSET:
        return False
    if known.last_offset == wanted.last_offset:
        return known.last_sequence == wanted.last_sequence
    return known.last_offset > wanted.last_offset


def wrong_epochs(known: Sequence[tuple[int, int]], log: Replayed, log_start_offset: int) -> Broken:
    """Say which batch of a log is not of the leader epoch that is known for its offset."""
    epochs = LeaderEpochs(known)
    for header in log.batches:
        if header.partition_leader_epoch == NO_EPOCH or header.next_offset <= log_start_offset:
            continue
        epoch = epochs.epoch_at(max(header.base_offset, log_start_offset))
        if epoch != header.partition_leader_epoch:
            return f"{header} is of {epoch}, as {list(known)} says"
    return None
