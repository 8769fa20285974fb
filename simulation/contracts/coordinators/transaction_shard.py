"""What a coordinator of transactions promises: what it decides is what it writes, and no more.

Source: TransactionCoordinator.scala, TransactionStateManager.scala, TransactionLog.java.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from broker.core.coordination import Decided, Record, Waiter, batch_size_bound
from broker.core.transaction_state import stored
from broker.core.transaction_state.begin import BeginAsked, ProducerIdAndEpoch
from broker.core.transaction_state.end import EndAsked
from broker.core.transaction_state.metadata import TransactionMetadata
from broker.core.transaction_state.metadata import TransactionState as State
from broker.core.transaction_state.shard import Initialized, MarkersDue, TransactionShard
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.transaction_records import TransactionLogValue
from protocol.stored_records import decode_versioned
from simulation.contracts.contract import Broken, of_function, of_method

_ENDING: Final = frozenset({State.PREPARE_COMMIT, State.PREPARE_ABORT})
_ENDED: Final = frozenset({State.COMPLETE_COMMIT, State.COMPLETE_ABORT})
_ROOM_FOR_END_BYTES: Final = 64
_AT_ONCE_MAX: Final = 1_000


@of_function(stored.record_of)
def record(known: TransactionMetadata, transaction_version: int) -> Generator[None, Record, Broken]:
    """What is stored of a transactional id is what is known of it.

    But for what releases of before transaction.version 1 would not read.
    """
    key, value = yield
    if value is None or stored.read_transactional_id(key) != known.transactional_id:
        return f"a record of {key!r} for {known}"
    wanted = replace(known, last_producer_epoch=-1)
    if transaction_version < 1:
        wanted = replace(
            wanted, previous_producer_id=-1, next_producer_id=-1, client_transaction_version=0
        )
    by_topic: dict[str, list[int]] = {}
    for tp in known.partitions:
        by_topic.setdefault(tp.topic, []).append(tp.partition)
    ordered = [TopicPartition(name, index) for name, all_ in by_topic.items() for index in all_]
    wanted = replace(wanted, partitions=tuple(ordered) if known.state is not State.EMPTY else ())
    read = stored.read_metadata(known.transactional_id, value)
    is_tagged = value[:2] == b"\0\1"
    if read != wanted or is_tagged is not (transaction_version >= 1):
        return f"{wanted} is stored as {read}"
    return None


@of_function(stored.read_metadata)
def read_metadata(
    transactional_id: str, value: bytes
) -> Generator[None, TransactionMetadata, Broken]:
    """What is read of a transactional id is what was stored."""
    known = yield
    row = decode_versioned(TransactionLogValue, value)[0]
    partitions = [
        (topic.topic, index)
        for topic in row.transaction_partitions or ()
        for index in topic.partition_ids
    ]
    told = (
        transactional_id,
        (row.producer_id, row.previous_producer_id, row.next_producer_id),
        row.producer_epoch,
        row.transaction_timeout_ms,
        row.transaction_status,
        partitions,
        row.transaction_start_timestamp_ms,
        row.transaction_last_update_timestamp_ms,
        row.client_transaction_version,
    )
    held = (
        known.transactional_id,
        (known.producer_id, known.previous_producer_id, known.next_producer_id),
        known.producer_epoch,
        known.timeout_ms,
        known.state.value,
        [tuple(tp) for tp in known.partitions],
        known.started_ms,
        known.updated_ms,
        known.client_transaction_version,
    )
    return None if held == told else f"{told} is read as {held}"


@of_method(TransactionShard, "replay")
def replay(
    shard: TransactionShard, key: bytes, value: bytes | None, *, producer_id: int = -1
) -> Generator[None, None, Broken]:
    """The last record of a transactional id is what is known of it."""
    yield
    transactional_id = stored.read_transactional_id(key)
    known = shard.get(transactional_id)
    if value is None or known is None:
        is_so = value is None and known is None
        return None if is_so else f"{transactional_id} is {known} after {value!r}"
    wrong = known.transactional_id != transactional_id or known.last_producer_epoch != -1
    return f"{transactional_id} is {known}" if wrong else None


def _due_for(known: TransactionMetadata) -> MarkersDue:
    return MarkersDue(
        transactional_id=known.transactional_id,
        producer_id=known.producer_id,
        producer_epoch=known.producer_epoch,
        is_commit=known.state is State.PREPARE_COMMIT,
        partitions=known.partitions,
        transaction_version=known.client_transaction_version,
    )


def _written(decided: Decided, transactional_id: str, known: TransactionMetadata | None) -> Broken:
    """Say how one record and its markers are not what became of a transactional id."""
    if known is None or len(decided.records) != 1:
        return f"{transactional_id} is {known} with {len(decided.records)} records"
    key, value = decided.records[0]
    read = None if value is None else stored.read_metadata(transactional_id, value)
    if stored.read_transactional_id(key) != transactional_id or read is None:
        return f"{read} is written for {known}"
    names = ("state", "producer_id", "producer_epoch", "timeout_ms", "started_ms", "updated_ms")
    wrong = [name for name in names if getattr(read, name) != getattr(known, name)]
    if wrong or set(read.partitions) != set(known.partitions):
        return f"{read} is written for {known}: {wrong}"
    due = [_due_for(known)] if known.state in _ENDING else []
    if list(decided.effects) != due:
        return f"markers {decided.effects} are due for {known}"
    return None


def _only_told(
    decided: Decided, before: TransactionMetadata | None, after: TransactionMetadata | None
) -> Broken:
    if decided.records or decided.effects or before is not after:
        return f"{before} becomes {after} by a refusal: {decided}"
    return None


def _answer(decided: Decided, waiter: Waiter) -> object:
    """Return the answer, where there is one, for who asked."""
    told = [each for each in decided.answers if each.waiter == waiter]
    return told[0].response if len(decided.answers) == len(told) == 1 else None


@of_method(TransactionShard, "begin")
def begin(
    shard: TransactionShard,
    waiter: Waiter,
    asked: BeginAsked,
    *,
    new_producer_id: int,
    wall_ms: int,
) -> Generator[None, Decided, Broken]:
    """A producer is told the id and epoch that are written, and none while anything is in the way.

    Nobody has the epochs before any more, and none was given twice.
    """
    before = shard.get(asked.transactional_id)
    limit_ms = shard._limits.timeout_ms_max  # noqa: SLF001 -- nothing public says it
    decided = yield
    after, told = shard.get(asked.transactional_id), _answer(decided, waiter)
    if not isinstance(told, Initialized):
        return f"told {decided.answers}"
    is_refused = told.error is ErrorCode.INVALID_TRANSACTION_TIMEOUT
    if is_refused is not (asked.timeout_ms <= 0 or asked.timeout_ms > limit_ms):
        return f"{told} for a timeout of {asked.timeout_ms} ms, at most {limit_ms}"
    if told.error is not ErrorCode.NONE:
        return _not_begun(decided, told, before, after)
    if after is None or told != (ErrorCode.NONE, after.producer_id, after.producer_epoch):
        return f"told {told}, known is {after}"
    if before is not None and after.producer_id == before.producer_id:
        raised = after.producer_epoch - before.producer_epoch
        if raised != 1 and (raised or asked.expected is None):
            return f"told {told} after {before}"
    return _written(decided, asked.transactional_id, after)


def _not_begun(
    decided: Decided,
    told: Initialized,
    before: TransactionMetadata | None,
    after: TransactionMetadata | None,
) -> Broken:
    """Say what is wrong with a refusal: an open transaction that is in the way is aborted by it."""
    if told[1:] != (-1, -1):
        return f"a refusal tells of {told}"
    is_open = before is not None and before.state is State.ONGOING
    if before is None or not is_open or told.error is not ErrorCode.CONCURRENT_TRANSACTIONS:
        return _only_told(decided, before, after)
    if after is None or after.state is not State.PREPARE_ABORT:
        return f"told {told}, and {before} becomes {after}"
    return _written(decided, before.transactional_id, after)


def _refusal(known: TransactionMetadata | None, producer: ProducerIdAndEpoch) -> ErrorCode:
    """Return why a producer may have no partition in a transaction, in Kafka's order."""
    if known is None:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    is_ending = known.state in _ENDING
    if producer.producer_id != known.producer_id:
        is_next = is_ending and 0 <= known.next_producer_id == producer.producer_id
        concurrent, unknown = (
            ErrorCode.CONCURRENT_TRANSACTIONS,
            ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        )
        return concurrent if is_next else unknown
    if producer.producer_epoch != known.producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    return ErrorCode.CONCURRENT_TRANSACTIONS if is_ending else ErrorCode.NONE


@of_method(TransactionShard, "add_partitions")
def add_partitions(
    shard: TransactionShard,
    waiter: Waiter,
    transactional_id: str,
    producer: ProducerIdAndEpoch,
    partitions: Sequence[TopicPartition],
    **_: int,
) -> Generator[None, Decided, Broken]:
    """Only the producer of now adds partitions, and it is answered when they are written.

    Those that are in the open transaction already are written once.
    """
    before = shard.get(transactional_id)
    wanted = _refusal(before, producer)
    decided = yield
    after, code = shard.get(transactional_id), _answer(decided, waiter)
    if before is None or code is not ErrorCode.NONE:
        if wanted is ErrorCode.NONE and code is ErrorCode.UNKNOWN_SERVER_ERROR:
            wanted = code
        told = f"{code}, not {wanted.name}, for {producer}: {before}"
        return _only_told(decided, before, after) if code is wanted else told
    if wanted is not ErrorCode.NONE:
        return f"taken instead of {wanted.name}: {producer}, {before}"
    if before.state is State.ONGOING and not set(partitions) - set(before.partitions):
        return _only_told(decided, before, after)
    room_bytes = shard._batch_bytes_max() - _ROOM_FOR_END_BYTES  # noqa: SLF001 -- as above
    if batch_size_bound(decided.records) > room_bytes:
        return f"a record that has no room to end: {after}"
    is_open = after is not None and after.state is State.ONGOING
    if after is None or not is_open or not set(partitions) <= set(after.partitions):
        return f"{partitions} are taken: {after}"
    return _written(decided, transactional_id, after)


@of_method(TransactionShard, "verify_partitions")
def verify_partitions(
    shard: TransactionShard,
    waiter: Waiter,
    transactional_id: str,
    producer: ProducerIdAndEpoch,
    partitions: Sequence[TopicPartition],
) -> Generator[None, Decided, Broken]:
    """A leader is told yes of those partitions alone that the producer has in its transaction."""
    before = shard.get(transactional_id)
    decided = yield
    refusal = _refusal(before, producer)
    wanted = [refusal] * len(partitions)
    if before is not None and refusal is ErrorCode.NONE:
        added = before.partitions
        wanted = [
            ErrorCode.NONE if added.count(each) else ErrorCode.TRANSACTION_ABORTABLE
            for each in partitions
        ]
    if _answer(decided, waiter) != wanted:
        return f"{decided.answers}, not {wanted}: {producer} {before}"
    return _only_told(decided, before, shard.get(transactional_id))


@of_method(TransactionShard, "end")
def end(
    shard: TransactionShard,
    waiter: Waiter,
    transactional_id: str,
    asked: EndAsked,
    *,
    new_producer_id: int,
    wall_ms: int,
) -> Generator[None, Decided, Broken]:
    """Once the end is written markers are due for each partition, and the producer is answered.

    It is told what it goes on with: the next epoch, or the first of another id.
    """
    before = shard.get(transactional_id)
    decided = yield
    after, told = shard.get(transactional_id), _answer(decided, waiter)
    if not isinstance(told, Initialized):
        return f"told {decided.answers}"
    if told.error is not ErrorCode.NONE or before is after:
        is_over = before is not None and before.state in _ENDED
        if told.error is ErrorCode.NONE and not is_over:
            return f"told {told}, nothing ended: {before}"
        return _only_told(decided, before, after)
    if before is None or after is None or after.state not in _ENDING:
        return f"told {told}, but {before} becomes {after}"
    goes_on = (after.producer_id, after.producer_epoch)
    if after.next_producer_id >= 0:
        goes_on = (after.next_producer_id, 0)
    if told[1:] != goes_on or after.partitions != before.partitions:
        return f"told {told} of {after}, before it {before}"
    return _written(decided, transactional_id, after)


@of_method(TransactionShard, "markers_written")
def markers_written(
    shard: TransactionShard, due: MarkersDue, wall_ms: int
) -> Generator[None, Decided, Broken]:
    """A transaction is complete when the markers of its own end are written."""
    before = shard.get(due.transactional_id)
    decided = yield
    after = shard.get(due.transactional_id)
    is_its_own = before is not None and before.state in _ENDING and due == _due_for(before)
    if not is_its_own or before is None:
        return _only_told(decided, before, after)
    wanted = State.COMPLETE_COMMIT if due.is_commit else State.COMPLETE_ABORT
    if after is None or after.state is not wanted or decided.answers:
        return f"{before} becomes {after} by {due}"
    return _written(decided, due.transactional_id, after)


@of_method(TransactionShard, "loaded")
def loaded(shard: TransactionShard, now_ms: int, wall_ms: int) -> Generator[None, Decided, Broken]:
    """Whoever loads ends that were decided sends their markers."""
    decided = yield
    wanted = [_due_for(each) for each in shard.transactions() if each.state in _ENDING]
    if sorted(decided.effects) != sorted(wanted) or decided.records or decided.answers:
        return f"{decided}, due are {wanted}"
    limits, due_ms = shard._limits, shard.next_due_ms()  # noqa: SLF001 -- nothing public says it
    first_ms = now_ms + min(limits.abort_interval_ms, limits.expiry_interval_ms)
    return None if due_ms == first_ms else f"the next look is at {due_ms}, not {first_ms}"


@of_method(TransactionShard, "expire")
def expire(shard: TransactionShard, now_ms: int, wall_ms: int) -> Generator[None, Decided, Broken]:
    """At each look every open transaction that is late is aborted, and old ids are forgotten.

    An id goes that is at rest and was not used for long; nothing else changes.
    """
    before = {each.transactional_id: each for each in shard.transactions()}
    limits = shard._limits  # noqa: SLF001 -- nothing public says it
    aborts_ms, expires_ms = shard._next_abort_ms, shard._next_expiry_ms  # noqa: SLF001 -- as above
    decided = yield
    after = {each.transactional_id: each for each in shard.transactions()}
    late: list[str] = []
    if aborts_ms is not None and now_ms >= aborts_ms:
        aborts_ms = now_ms + limits.abort_interval_ms
        late = [name for name, each in before.items() if _is_late(each, wall_ms)]
    old: list[str] = []
    if now_ms >= expires_ms:
        expires_ms = now_ms + limits.expiry_interval_ms
        oldest_ms = wall_ms - limits.id_expiration_ms
        old = [name for name, each in before.items() if _is_old(each, oldest_ms)][:_AT_ONCE_MAX]
    if (shard._next_abort_ms, shard._next_expiry_ms) != (aborts_ms, expires_ms):  # noqa: SLF001 -- as above
        return f"the next look is at {shard.next_due_ms()}, not {aborts_ms}, {expires_ms}"
    return _not_swept(decided, before, after, late=late, old=old)


def _is_late(known: TransactionMetadata, wall_ms: int) -> bool:
    lasts_ms = wall_ms - known.started_ms
    is_timed = known.timeout_ms < 2**31 - 1
    return known.state is State.ONGOING and is_timed and lasts_ms > known.timeout_ms


def _is_old(known: TransactionMetadata, oldest_ms: int) -> bool:
    is_at_rest = known.state in {State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT}
    return is_at_rest and not known.updated_ms > oldest_ms


def _not_swept(
    decided: Decided,
    before: Mapping[str, TransactionMetadata],
    after: Mapping[str, TransactionMetadata],
    *,
    late: Sequence[str],
    old: Sequence[str],
) -> Broken:
    changed = [name for name in before if before[name] is not after.get(name)]
    if set(changed) != {*late, *old} or not after.keys() <= before.keys():
        return f"{changed} change, {late} are late, {old} are old"
    for name in late:
        if after[name].state is not State.PREPARE_ABORT:
            return f"{after[name]} was late"
    written = {stored.read_transactional_id(key): value for key, value in decided.records}
    gone = [name for name, value in written.items() if value is None]
    if set(gone) != set(old) or set(written) != set(changed) or set(old) & set(after):
        return f"{gone} of {list(written)} are written as gone, {old} are"
    due = [_due_for(after[name]) for name in late]
    is_due = list(decided.effects) == due and not decided.answers
    return None if is_due else f"{decided.effects} for {due}"
