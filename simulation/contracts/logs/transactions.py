"""What a log promises readers of committed records: what is stable, and what was aborted.

Source: UnifiedLog.scala fetchLastStableOffsetMetadata, TransactionIndex.java; KIP-98.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Sequence

from broker.core import markers
from broker.core import transactions as rules
from broker.core.append import PreparedAppend
from broker.core.partition import Partition
from broker.core.replica_producers import ReplicaProducers
from broker.core.transactions import EndedTransaction, EndedTransactions, EndMarker
from protocol.ids import NO_OFFSET
from protocol.ports import Buffer
from protocol.records.batch import BatchHeader, check_crc, read_batch_header
from simulation.contracts.contract import Broken, of_function, of_method
from simulation.contracts.logs.producers import known, open_offsets


def _waiting(ended: EndedTransactions) -> list[EndedTransaction]:
    return ended._unreplicated  # noqa: SLF001 -- nothing public has it


def _aborted(ended: EndedTransactions) -> list[EndedTransaction]:
    return ended._aborted  # noqa: SLF001 -- as above


def _reopened(producers: ReplicaProducers) -> list[int]:
    """Return where a transaction begins whose marker was cut off, until producers are read."""
    first = producers._reopened  # noqa: SLF001 -- as above
    return [first] if first >= 0 else []


def stable_offset(producers: ReplicaProducers, high_watermark: int, log_start_offset: int) -> int:
    """Return where readers of committed records end."""
    begun = _ended(producers, high_watermark) + _open_since(producers)
    return _first_of(begun, high_watermark, log_start_offset) if begun else high_watermark


def _ended(producers: ReplicaProducers, high_watermark: int) -> list[int]:
    """Return where transactions begin whose markers are not committed."""
    waiting = _waiting(producers.ended)
    if not waiting:
        return []
    return [one.first_offset for one in waiting if one.last_offset >= high_watermark]


def _open_since(producers: ReplicaProducers) -> list[int]:
    return open_offsets(producers.states) + _reopened(producers)


def _first_of(begun: Sequence[int], high_watermark: int, log_start_offset: int) -> int:
    return min([high_watermark, *(max(start, log_start_offset) for start in begun)])


@of_method(ReplicaProducers, "last_stable_offset")
def last_stable_offset(
    producers: ReplicaProducers, high_watermark: int, log_start_offset: int
) -> Generator[None, int, Broken]:
    """Before the last stable offset no transaction is open, and each marker is committed.

    It is the first such offset, in the log and never behind the high watermark.
    """
    ended, open_since = _ended(producers, high_watermark), _open_since(producers)
    stable = yield
    if not ended and not open_since:
        return None if stable == high_watermark else f"{stable}, committed is {high_watermark}"
    begun = [*ended, *open_since]
    if len(_waiting(producers.ended)) != len(ended):
        return f"{ended} wait for their markers, {_waiting(producers.ended)} are kept"
    wanted = _first_of(begun, high_watermark, log_start_offset)
    return None if stable == wanted else f"{stable}, not {wanted}: {begun}, to {high_watermark}"


@of_method(ReplicaProducers, "transaction_ended")
def transaction_ended(
    producers: ReplicaProducers, ended: EndedTransaction | None, high_watermark: int
) -> Generator[None, None, Broken]:
    """A transaction that ended is unstable until its marker is committed, and known if aborted."""
    yield
    if ended is None:
        return None
    if ended not in _waiting(producers.ended)[-1:]:
        return f"nobody waits for the marker of {ended}"
    if (ended in _aborted(producers.ended)[-1:]) is not ended.is_aborted:
        return f"{ended} is known as aborted: {not ended.is_aborted}"
    return None


@of_method(ReplicaProducers, "truncate_from_end")
def truncate_from_end(producers: ReplicaProducers, offset: int) -> Generator[None, None, Broken]:
    """A cut takes markers and open transactions behind it; whose marker it takes is open again."""
    before = list(_aborted(producers.ended))
    waiting = list(_waiting(producers.ended))
    yield
    late = [start for start in open_offsets(producers.states) if start >= offset]
    if late:
        return f"transactions are open from {late} on in a log cut at {offset}"
    kept = [one for one in before if one.last_offset < offset]
    still = [one for one in waiting if one.last_offset < offset]
    left = (_aborted(producers.ended), _waiting(producers.ended))
    if left != (kept, still):
        return f"cut at {offset} are left {left} of {before}"
    reopened = [one.first_offset for one in (*before, *waiting) if one.last_offset >= offset]
    reopened = [first for first in reopened if first < offset]
    is_held = not reopened or 0 <= min(_reopened(producers), default=-1) <= min(reopened)
    return None if is_held else f"cut at {offset}, transactions from {reopened} on are not open"


@of_method(ReplicaProducers, "restart_at")
def restart_at(producers: ReplicaProducers, offset: int) -> Generator[None, None, Broken]:
    """An emptied log knows no producer and no transaction."""
    yield
    left = (_aborted(producers.ended), _waiting(producers.ended), open_offsets(producers.states))
    if any(left) or len(producers.states):
        return f"{left} and {len(producers.states)} producers are left"
    return None


@of_method(EndedTransactions, "aborted_between")
def aborted_between(
    ended: EndedTransactions, start: int, end: int
) -> Generator[None, tuple[EndedTransaction, ...] | None, Broken]:
    """A reader is told of all aborted transactions that have something in what it reads."""
    told = yield
    known_from = ended._known_from  # noqa: SLF001 -- as above
    if start < known_from:
        return None if told is None else f"{told} from {start}, known from {known_from} on"
    wanted = [
        one for one in _aborted(ended) if not (one.last_offset < start or one.first_offset >= end)
    ]
    if told is None or list(told) != wanted:
        return f"{told} from {start} to {end}, not {wanted}"
    return None


@of_method(EndedTransactions, "add")
def add(
    ended: EndedTransactions, one: EndedTransaction, high_watermark: int
) -> Generator[None, None, Broken]:
    """What is forgotten of aborted transactions is looked for on disk."""
    before = list(_aborted(ended))
    yield
    if one.is_aborted is not (one in _aborted(ended)[-1:]):
        return f"{one} is known as aborted: {not one.is_aborted}"
    forgotten = before[: len(before) + one.is_aborted - len(_aborted(ended))]
    known_from = ended._known_from  # noqa: SLF001 -- as above
    if forgotten and known_from <= forgotten[-1].last_offset:
        return f"known from {known_from} on, forgotten are {forgotten[-1:]}"
    return None


@of_function(rules.read_marker)
def read_marker(
    header: BatchHeader, buffer: Buffer, position: int
) -> Generator[None, EndMarker | None, Broken]:
    """A marker says whose transaction it ends, and how."""
    marker = yield
    whose = (header.producer_id, header.producer_epoch)
    if marker is not None and (marker.producer_id, marker.producer_epoch) != whose:
        return f"{marker} of {header}"
    if marker is None and header.records_count == 0:
        return None
    body = bytes(memoryview(buffer)[position + 61 : position + header.size_bytes])
    if marker is not None and b"\x00\x00\x00" + bytes([marker.is_commit]) not in body:
        return f"{marker} of {body!r}"
    return None


@of_function(markers.prepare_marker)
def prepare_marker(
    partition: Partition,
    marker: EndMarker,
    batch: memoryview,
    *,
    is_log_append_time: bool,
    now_ms: int,
) -> Generator[None, PreparedAppend, Broken]:
    """A marker stands at the end of the log in its leader's epoch, and nothing is open behind it.

    What it ended is unstable until the marker is committed.
    """
    offset, states = partition.next_offset, partition.producers.states
    before = known(states, marker.producer_id)
    had_open = before is not None and before.transaction_first_offset != NO_OFFSET
    prepared = yield
    if prepared != (offset, offset, len(batch), now_ms if is_log_append_time else -1, None):
        return f"{prepared} for a marker at {offset}"
    header = read_batch_header(batch)
    if (header.base_offset, header.partition_leader_epoch) != (offset, partition.leader_epoch):
        return f"{header} at {offset} in leader epoch {partition.leader_epoch}"
    if header.is_log_append_time is not is_log_append_time or not check_crc(batch, 0, header):
        return f"{header}, its sum is wrong or its time is not the log's"
    if is_log_append_time and header.max_timestamp != now_ms:
        return f"{header} at {now_ms}"
    markers_waiting = [one.last_offset for one in _waiting(partition.producers.ended)]
    if had_open is not (offset in markers_waiting):
        return f"ended: {had_open}, for markers {markers_waiting} somebody waits"
    return None


@of_method(ReplicaProducers, "note_replicated")
def note_replicated(
    producers: ReplicaProducers,
    batches: Sequence[BatchHeader],
    records: Buffer,
    *,
    high_watermark: int,
    now_ms: int,
) -> Generator[None, None, Broken]:
    """A follower knows of producers what its leader knows: their last batches and transactions."""
    yield
    last = {one.producer_id: one for one in batches if one.producer_id >= 0}
    for producer_id, header in last.items():
        producer = known(producers.states, producer_id)
        if producer is None or (producer.seen_ms != now_ms and header.records_count):
            return f"{header} is noted as {producer}"
        if header.is_control:
            if header.records_count and producer.transaction_first_offset != NO_OFFSET:
                return f"a transaction is open behind its marker {header}"
            continue
        if [one.last_offset for one in producer.batches[-1:]] != [header.last_offset]:
            return f"{header} is noted as {producer.batches}"
        if header.is_transactional and producer.transaction_first_offset == NO_OFFSET:
            return f"no transaction is open with {header}"
    return None
