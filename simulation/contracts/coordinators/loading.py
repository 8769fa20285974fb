"""What is promised of the logs that coordinators load: all counts as it did when it was written.

Source: CoordinatorLoaderImpl, GroupMetadataManager.doLoadGroupsAndOffsets.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Final, TypeAlias

from broker.coordinators import coordinator_log
from broker.coordinators.coordinator_log import CoordinatorLog
from broker.core.coordination import Shard
from broker.core.groups.group_offsets import Committed, GroupOffsets, read_offset
from broker.core.groups.group_shard import GroupShard
from broker.engine.serve.produce import BegunProduce
from protocol.errors import ErrorCode, Malformed
from protocol.ids import NO_PRODUCER_ID, TopicPartition
from protocol.ports import Buffer
from protocol.records.batch import BatchHeader
from protocol.records.entries import iterate_entry_views, iterate_stored_batches, read_entry_header
from protocol.records.records import (
    ControlRecordType,
    Record,
    RecordView,
    control_type,
    copy_record,
)
from protocol.stored_records import GROUP_RECORDS, decode_key
from simulation.contracts.contract import Broken, of_function, of_method

_COMMITS: Final = 1
_ABORTS: Final = 0
_OFFSETS: Final = (0, 1)
"""Keys of these versions are of offsets."""
_Place: TypeAlias = tuple[str, TopicPartition]


@of_method(CoordinatorLog, "load")
def load(log: CoordinatorLog, shard: Shard) -> Generator[None, BegunProduce, Broken]:
    """All of a log is loaded, and is waited for until it is replicated."""
    del shard
    begun = yield
    tp, state = log._tp, begun._state  # noqa: SLF001 -- as above
    replica = state.hosted.online_replica(tp)
    if replica is None or not begun.ready.done():
        return None
    partition = replica.partition
    if begun.delayed.codes[0] is not ErrorCode.NONE:
        return None
    is_there = partition.high_watermark >= log._ports.reads.span(tp).end  # noqa: SLF001 -- as above
    return None if is_there else f"{tp} is committed up to {partition.high_watermark} only"


@of_function(coordinator_log._replay_control)  # noqa: SLF001 -- nothing public says which end it is
def replay_control(
    shard: Shard, producer_id: int, view: RecordView
) -> Generator[None, None, Broken]:
    """A marker that is loaded ends a transaction as it says."""
    if not isinstance(shard, GroupShard) or view.key is None:
        yield
        return None
    kind = int.from_bytes(bytes(view.key)[2:4], "big")
    pending = shard.offsets._pending.get(producer_id, {})  # noqa: SLF001 -- nothing public has it
    places = {
        (group_id, tp): each.order
        for group_id, found in pending.items()
        for tp, each in found.items()
    }
    before = {place: shard.offsets.committed(place[0]).get(place[1]) for place in places}
    yield
    if kind not in {_COMMITS, _ABORTS}:
        return None
    for (group_id, tp), order in places.items():
        was, now = before[group_id, tp], shard.offsets.committed(group_id).get(tp)
        counts = kind == _COMMITS and (was is None or was.order < order)
        if (now is None or now.order != order) if counts else now != was:
            return f"{tp} of {group_id} is {now} after {was}, pending {order}, kind {kind}"
    return None


@of_method(CoordinatorLog, "_replay")
def replay(log: CoordinatorLog, shard: Shard, buffer: Buffer) -> Generator[None, int, Broken]:
    """An offset of a transaction is pending until its marker is there, and counts if it commits."""
    if not isinstance(shard, GroupShard):
        yield
        return None
    wanted = _Loaded.of(shard.offsets)
    yield
    for position, header in iterate_stored_batches(buffer):
        for view in iterate_entry_views(buffer, position, read_entry_header(buffer, position)):
            wanted.take(header, copy_record(view._replace(headers=b"")))  # Nobody looks at those.
    found = _Loaded.of(shard.offsets)
    if found.shown() == wanted.shown():
        return None
    return f"{log._tp}: {found.shown()} are loaded, not {wanted.shown()}"  # noqa: SLF001 -- as above


@dataclass(slots=True)
class _Loaded:
    """The offsets of one log, up to a place in it."""

    counts: dict[_Place, Committed]
    pending: dict[int, dict[_Place, Committed]]
    order: int

    @classmethod
    def of(cls, offsets: GroupOffsets) -> _Loaded:
        """Return those that were loaded so far."""
        groups = dict.fromkeys(offsets.group_ids())
        return cls(
            {(each, tp): had for each in groups for tp, had in offsets.committed(each).items()},
            {
                producer_id: {(each, tp): had for each in by for tp, had in by[each].items()}
                for producer_id, by in offsets._pending.items()  # noqa: SLF001 -- nothing public has it
            },
            offsets._order,  # noqa: SLF001 -- as above
        )

    def shown(self) -> object:
        """Return all but the places in the log, where others may be counted between."""
        return (
            {place: each[:-1] for place, each in self.counts.items()},
            {
                producer_id: {place: each[:-1] for place, each in found.items()}
                for producer_id, found in self.pending.items()
                if found
            },
        )

    def take(self, header: BatchHeader, record: Record) -> None:
        """Go on to the next record; those that are of no offset change nothing here."""
        try:
            if header.is_control:
                self._end(header.producer_id, control_type(record))
            elif record.key is not None:
                self._put(header, record.key, record.value)
        except Malformed:
            return

    def _end(self, producer_id: int, kind: ControlRecordType) -> None:
        if kind not in (ControlRecordType.COMMIT, ControlRecordType.ABORT):
            return
        ended = self.pending.pop(producer_id, {})
        for place, each in ended.items() if kind is ControlRecordType.COMMIT else ():
            self.counts[place] = max(each, self.counts.get(place, each), key=lambda one: one.order)

    def _put(self, header: BatchHeader, key: bytes, value: bytes | None) -> None:
        kind, about = decode_key(GROUP_RECORDS, key)
        if kind.number not in _OFFSETS:
            return
        group_id, tp, committed = read_offset(about, value)
        place, self.order = (group_id, tp), self.order + 1
        if committed is None:
            for found in (self.counts, *self.pending.values()):
                found.pop(place, None)
            return
        producer_id = header.producer_id if header.is_transactional else NO_PRODUCER_ID
        found = self.counts
        if producer_id != NO_PRODUCER_ID:
            found = self.pending.setdefault(producer_id, {})
        found[place] = committed._replace(order=self.order)
