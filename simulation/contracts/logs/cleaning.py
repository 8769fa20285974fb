"""What compaction promises of each batch: the last value of every key stays, where it was.

Source: LogCleaner.scala, MemoryRecords.filterTo; KIP-58, KIP-534.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from copy import deepcopy
from inspect import unwrap
from typing import Any, Final, NamedTuple, TypeAlias

from broker.core import batch_cleaning as rules
from broker.core.batch_cleaning import BatchCleaning, LastOfProducer, control_of
from broker.core.cleaned_transactions import Aborted, CleanedTransactions
from broker.core.offset_map import OffsetMap
from broker.core.producer_entry import ProducerEntry
from protocol.ports import Buffer
from protocol.records.batch import BatchHeader, check_crc, read_batch_header
from protocol.records.records import ControlRecordType, Record, iterate_records
from simulation.contracts.contract import Broken, of_function, of_method

Cleaning: TypeAlias = "BatchCleaning[Any]"
"""Any: the entries of a transaction index, of which the rules know little."""
Transactions: TypeAlias = "CleanedTransactions[Any]"
_LATEST_MS: Final = 2**63 - 1


class _Wanted(NamedTuple):
    """What is to stay of a batch."""

    records: Sequence[Record]
    horizon_ms: int | None
    is_whole: bool


@of_method(BatchCleaning, "clean")
def clean(
    cleaning: Cleaning, header: BatchHeader, batch: Buffer
) -> Generator[None, Buffer | None, Broken]:
    """The last record of each key stays as it was written, others go, and no end of a log is lost.

    A tombstone, and the marker of a transaction that has no records any more, stay for
    delete.retention.ms from when a pass first met them.
    """
    wanted = _wanted(cleaning, header, batch)
    must_stay = _must_stay(cleaning, header)
    kept = yield
    if kept is None:
        is_lost = must_stay or wanted.records
        return f"nothing stays of {header}, {len(wanted.records)} should" if is_lost else None
    if not wanted.records and not must_stay:
        return f"{header} stays for nothing"
    if kept is batch and wanted.is_whole:
        return None  # As most often.
    new = read_batch_header(kept)
    if list(iterate_records(kept, 0, new)) != list(wanted.records) or not check_crc(kept, 0, new):
        return f"{new} is left of {header}, not {wanted.records}"
    return _misfit(header, new, wanted)


def _misfit(header: BatchHeader, new: BatchHeader, wanted: _Wanted) -> Broken:
    """Say what of a header is wrong with which records are written again."""
    for name in _STAYS:
        if getattr(new, name) != getattr(header, name):
            return f"{name} changes: {header} becomes {new}"
    if wanted.is_whole:
        return None if new == header else f"{header} becomes {new} for nothing"
    if not wanted.records:
        is_plain = not new.compression and new.delete_horizon_ms is None
        return None if is_plain or new == header else f"{new} is empty"
    newest_ms = max(record.timestamp_ms for record in wanted.records)
    if new.delete_horizon_ms != wanted.horizon_ms or new.max_timestamp != newest_ms:
        return f"{new}: the horizon is {wanted.horizon_ms}, the newest record of {newest_ms}"
    return None


_STAYS: Final = (
    "base_offset",
    "partition_leader_epoch",
    "last_offset_delta",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "is_transactional",
    "is_control",
    "is_log_append_time",
)


def _wanted(cleaning: Cleaning, header: BatchHeader, batch: Buffer) -> _Wanted:
    records = list(iterate_records(batch, 0, header))
    horizon_ms, now_ms = header.delete_horizon_ms, cleaning.now_ms
    is_over = horizon_ms is not None and horizon_ms <= now_ms
    if header.is_control:
        kind = control_of(header, batch)
        waits = deepcopy(cleaning.transactions).read_marker(header, kind)
        kept = [] if waits and is_over else records
    else:
        is_aborted = header.is_transactional and deepcopy(cleaning.transactions).read_data(header)
        kept = [] if is_aborted else [r for r in records if _stays(cleaning, r, is_over=is_over)]
        waits = any(record.value is None for record in kept)
    is_new = waits and horizon_ms is None
    if is_new:
        horizon_ms = min(now_ms + cleaning.delete_retention_ms, _LATEST_MS)
    return _Wanted(kept, horizon_ms, kept == records != [] and not is_new)


def _stays(cleaning: Cleaning, record: Record, *, is_over: bool) -> bool:
    if record.offset > cleaning.offsets.latest_offset:
        return True
    if record.key is None or cleaning.offsets.get(record.key) > record.offset:
        return False
    return record.value is not None or not is_over


def _must_stay(cleaning: Cleaning, header: BatchHeader) -> bool:
    """Tell of the last batch of a pass, and of the last one of a producer that is known."""
    last = cleaning.producers.get(header.producer_id)
    is_last = last is not None and last.last_offset == header.last_offset >= 0
    is_marker = last is not None and last.last_offset < 0 and header.is_control
    if is_marker and last is not None:
        is_marker = last.producer_epoch == header.producer_epoch
    return header.last_offset + 1 == cleaning.end_offset or is_last or is_marker


@of_function(rules.last_of_producers)
def last_of_producers(
    entries: Sequence[ProducerEntry],
) -> Generator[None, dict[int, LastOfProducer], Broken]:
    """Of each producer the last batch is known, without one its epoch."""
    found = yield
    wanted = {
        one.producer_id: (one.producer_epoch, -1 if one.last_sequence < 0 else one.last_offset)
        for one in entries
    }
    return None if found == wanted else f"{found}, not {wanted}"


@of_function(rules.index_keys)
def index_keys(
    offsets: OffsetMap, header: BatchHeader, batch: Buffer, start_offset: int
) -> Generator[None, bool, Broken]:
    """The map knows the last offset of each key from the dirty part on, as far as it has room."""
    before = offsets.latest_offset
    is_done = yield
    records = list(iterate_records(batch, 0, header)) if is_done else []
    last = {one.key: one.offset for one in records if one.key is not None}
    for key, offset in last.items():
        found = offsets.get(key)
        if offset >= start_offset and found != offset:
            return f"{key!r} at {offset} is known at {found}"
        if offset < start_offset and found >= 0 and found <= before == offset:
            return f"{key!r} at {offset} is before {start_offset}, known at {found}"
    noted = [offset for offset in last.values() if offset >= start_offset]
    is_seen = not noted or offsets.latest_offset == max(noted)
    return None if is_seen else f"seen up to {offsets.latest_offset}, not {max(noted)}"


@of_method(OffsetMap, "put")
def put(offsets: OffsetMap, key: bytes, offset: int) -> Generator[None, bool, Broken]:
    """A key has the offset that was put last; without room nothing changes."""
    find = unwrap(OffsetMap.get)
    before, count, latest = find(offsets, key), offsets.count, offsets.latest_offset
    is_put = yield
    after = (find(offsets, key), offsets.count, offsets.latest_offset)
    wanted = (offset, count + (before < 0), offset) if is_put else (before, count, latest)
    if not is_put and before >= 0:
        return f"there is no room for {key!r}, which is there"
    return None if after == wanted else f"{key!r} at {offset}, put: {is_put}: {after}"


def _open(transactions: Transactions, offset: int) -> dict[int, object]:
    """Return the aborted transactions that have begun up to ``offset``, by producer."""
    begun = dict(transactions._aborted)  # noqa: SLF001 -- nothing public has it
    for first, _, one in sorted(transactions._upcoming):  # noqa: SLF001 -- as above
        if first <= offset:
            begun.setdefault(one.producer_id, one)
    return begun


@of_method(CleanedTransactions, "read_data")
def read_data(transactions: Transactions, header: BatchHeader) -> Generator[None, bool, Broken]:
    """The records of aborted transactions go, and no others."""
    begun = _open(transactions, header.last_offset)
    is_aborted = yield
    wanted = header.is_transactional and header.producer_id in begun
    if is_aborted is not wanted:
        return f"{header} is aborted: {is_aborted}, open are {begun}"
    met = transactions._seen if wanted else transactions._committed  # noqa: SLF001 -- as above
    is_met = not header.is_transactional or header.producer_id in met
    return None if is_met else f"{header} is not remembered for its marker"


@of_method(CleanedTransactions, "read_marker")
def read_marker(
    transactions: Transactions, header: BatchHeader, control: ControlRecordType | None
) -> Generator[None, bool, Broken]:
    """A marker stays while its transaction has records: readers would not know how it ended."""
    begun = _open(transactions, header.last_offset)
    producer_id, kept = header.producer_id, list(transactions.kept)
    has_committed = producer_id in transactions._committed  # noqa: SLF001 -- as above
    has_aborted = producer_id in begun and producer_id in transactions._seen  # noqa: SLF001
    may_go = yield
    wanted = {
        None: True,
        ControlRecordType.COMMIT: not has_committed,
        ControlRecordType.ABORT: not has_aborted,
    }.get(control, False)
    if may_go is not wanted:
        return f"{control} at {header.last_offset} may go: {may_go}, records are left: {not wanted}"
    is_abort = control is ControlRecordType.ABORT
    if is_abort and producer_id in transactions._aborted:  # noqa: SLF001 -- as above
        return f"a transaction of {producer_id} goes on behind its marker"
    if is_abort and not wanted:
        kept.append(begun[producer_id])
    return None if transactions.kept == kept else f"the index gets {transactions.kept}"


@of_method(CleanedTransactions, "expect")
def expect(transactions: Transactions, aborted: Iterable[Aborted]) -> Generator[None, None, Broken]:
    """Every aborted transaction is waited for."""
    named = list(aborted) if isinstance(aborted, Sequence) else []
    yield
    waiting = [one for _, _, one in transactions._upcoming]  # noqa: SLF001 -- as above
    missing = [one for one in named if one not in waiting]
    return f"{missing} are not waited for" if missing else None
