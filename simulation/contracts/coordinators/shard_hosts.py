"""What runs the shards of coordinators promises: nothing is told before the log has it.

Source: CoordinatorRuntime, CoordinatorLoaderImpl, PartitionWriter; KIP-848.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Generator, Sequence
from typing import Any, TypeAlias

from broker.coordinators.groups import CoordinatorRelay
from broker.coordinators.offset_commits import commit_offsets
from broker.coordinators.shard_host import BATCH_BYTES_WANTED, BATCHES_IN_FLIGHT_MAX, ShardHost
from broker.coordinators.shards import Shards
from broker.coordinators.transactions import Transactions
from broker.core import coordination
from broker.core.coordination import (
    Decided,
    Record,
    TransactionProducer,
    Waiter,
    append_error,
    batch_size_bound,
)
from broker.core.groups.group_shard import Commit, GroupShard
from broker.core.transaction_state.shard import MarkersDue, TransactionShard
from broker.engine.serve.led_logs import LedLogs
from broker.engine.serve.produce import BegunProduce
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from simulation.contracts.contract import Broken, of_function, of_method

Asked: TypeAlias = Generator[None, object, Broken]


def _open(host: ShardHost[Any], waiters: Sequence[Waiter]) -> dict[Waiter, asyncio.Future[Any]]:
    """Return those of them that are not answered."""
    found = {each: host._waiting.get(each) for each in waiters}  # noqa: SLF001 -- nothing public has it
    return {each: future for each, future in found.items() if future and not future.done()}


def _unwritten(host: ShardHost[Any]) -> list[tuple[Record, TransactionProducer | None, int]]:
    """Return what is to be written, in order: whose transaction it is part of, in which batch."""
    return [
        (record, write.producer, number)
        for number, write in enumerate(host._unwritten)  # noqa: SLF001 -- as above
        for record in write.records
    ]


@of_method(ShardHost, "take")
def take(host: ShardHost[Any], decided: Decided) -> Generator[None, None, Broken]:
    """Who is answered is answered after all that was decided before, when the log has it.

    What is decided is written behind all that was decided before, and as part of its transaction.
    """
    waiting = _open(host, [each.waiter for each in decided.answers])
    is_behind = bool(decided.records or host._unwritten or host._in_flight)  # noqa: SLF001 -- as above
    before = _unwritten(host)
    counts = [len(write.records) for write in host._unwritten]  # noqa: SLF001 -- as above
    yield
    misplaced = _misplaced(before, decided, _unwritten(host)) or _too_large(host, decided, counts)
    if decided.records and misplaced:
        return f"{host.tp}: {misplaced}"
    answered = [each for each, future in waiting.items() if future.done()]
    if is_behind and answered:
        return f"{host.tp}: {answered} are answered before the log has all"
    if not is_behind and len(answered) < len(waiting):
        return f"{host.tp}: {list(waiting)} wait for nothing"
    writes = [*(write for _, write in host._in_flight), *host._unwritten]  # noqa: SLF001 -- as above
    if is_behind:
        kept = {answer.waiter for answer in writes[-1].answers}
        lost = [each for each in waiting if each not in kept]
        if lost or not set(map(id, decided.effects)) <= set(map(id, writes[-1].effects)):
            return f"{host.tp}: {lost} and effects {decided.effects} are not with the last write"
        endless = [each for each in waiting if each not in host._timers]  # noqa: SLF001 -- as above
        if endless:
            return f"{host.tp}: {endless} wait without end for a write"
    return _unalarmed(host)


def _misplaced(
    before: Sequence[tuple[Record, TransactionProducer | None, int]],
    decided: Decided,
    after: Sequence[tuple[Record, TransactionProducer | None, int]],
) -> Broken:
    """Say how what is decided is not behind the rest, in batches of its own transaction alone."""
    wanted = [each[:2] for each in before]
    wanted += [(record, decided.producer) for record in decided.records]
    if [each[:2] for each in after] != wanted:
        return f"to be written is {after}, not {wanted}"
    batches = {number for _, _, number in after[len(before) :]}
    if decided.is_atomic and len(batches) > 1:
        return f"{decided.records} are one decision, and go into {len(batches)} batches"
    return None


def _too_large(host: ShardHost[Any], decided: Decided, before: Sequence[int]) -> Broken:
    """Say which batch grew too large; ``before`` has how many records each had.

    What is one decision, or one record, alone may be as large as it is.
    """
    most = min(BATCH_BYTES_WANTED, host._log.batch_bytes_max)  # noqa: SLF001 -- as above
    alone = len(decided.records) if decided.is_atomic else 1
    for number, write in enumerate(host._unwritten):  # noqa: SLF001 -- as above
        count = len(write.records)
        is_changed = number >= len(before) or count > before[number]
        is_alone = number >= len(before) and count == alone
        if is_changed and not is_alone and batch_size_bound(write.records) > most:
            return f"{count} records are one batch, of more than {most} bytes"
    return None


def _unalarmed(host: ShardHost[Any]) -> Broken:
    due_ms = None if host._shard is None else host._shard.next_due_ms()  # noqa: SLF001 -- as above
    alarm_ms = host._alarm_ms  # noqa: SLF001 -- as above
    return None if alarm_ms == due_ms else f"{host.tp} looks at {alarm_ms}, due is {due_ms}"


@of_method(ShardHost, "ask")
def ask(host: ShardHost[Any], decide: object, *, writes: bool = False) -> Asked:
    """Nobody decides what the log would not take for sure, and who was answered has no timer."""
    del decide
    is_to_write = writes and host.is_loaded
    code = host._log.refusal() if is_to_write else ErrorCode.NONE  # noqa: SLF001 -- as above
    told: ErrorCode | None = None
    try:
        yield
    except KafkaError as refused:
        told = refused.code
    left = host._timers.keys() - host._waiting.keys()  # noqa: SLF001 -- as above
    if left:
        return f"{host.tp}: timers of {sorted(left)} are left, who wait no more"
    is_so = code is ErrorCode.NONE or told is append_error(code)
    return None if is_so else f"{host.tp} takes nothing, {code.name}, and {told} is told"


@of_method(ShardHost, "shard")
def shard(host: ShardHost[Any]) -> Generator[None, object, Broken]:
    """Who asks for a shard gets the one that decides, once it is loaded and not before."""
    found = yield
    is_so = found is not None and found is host._shard and not host.is_unreadable  # noqa: SLF001 -- as above
    return None if is_so else f"{host.tp} gives {found}, and is loaded: {host.is_loaded}"


@of_method(ShardHost, "_settle")
def settle(host: ShardHost[Any]) -> Generator[None, None, Broken]:
    """Answers are given when their batch, and all before it, are replicated.

    Where the log has it for sure all is done that was to follow; else the shard is loaded anew.
    """
    shard, before = host._shard, list(host._in_flight)  # noqa: SLF001 -- as above
    ready = [begun.ready.done() for begun, _ in before]
    settled = ready.index(False) if False in ready else len(ready)
    waiting = [_open(host, [each.waiter for each in write.answers]) for _, write in before]
    yield
    if host._shard is not shard:  # noqa: SLF001 -- as above
        return None
    answered = [all(each.done() for each in found.values()) for found in waiting]
    early = [any(each.done() for each in found.values()) for found in waiting[settled:]]
    if any(early) or not all(answered[:settled]):
        return f"{host.tp}: answered {answered}, replicated are {settled}"
    left = len(host._in_flight)  # noqa: SLF001 -- as above
    if left != len(before) - settled:
        return f"{host.tp}: {left} of {len(before)} are left, {settled} are there"
    for (begun, write), found in zip(before[:settled], waiting, strict=False):
        code = begun.delayed.codes[0]
        is_sure = code is ErrorCode.NONE
        if not is_sure and write.effects:
            return f"{host.tp}: {write.effects} are forgotten, after {code}"
        if any((each.exception() is None) is not is_sure for each in found.values()):
            return f"{host.tp}: {found} are told, after {code}"
    return None


def _refused(host: ShardHost[Any]) -> ErrorCode | None:
    """Return why the log does not have what was written last, where that is known."""
    if not host._in_flight or not host._in_flight[-1][0].ready.done():  # noqa: SLF001 -- as above
        return None
    code = host._in_flight[-1][0].delayed.codes[0]  # noqa: SLF001 -- as above
    is_there = code in {ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND}
    return None if is_there else code


@of_method(ShardHost, "_drop")
def drop(host: ShardHost[Any], code: ErrorCode) -> Generator[None, None, Broken]:
    """Of a shard that is dropped nothing is written any more, and nobody waits for it."""
    del code
    waiting = _open(host, list(host._waiting))  # noqa: SLF001 -- as above
    yield
    left = [each for each, future in waiting.items() if not future.done()]
    has_more = bool(host._unwritten or host._in_flight or host._alarm)  # noqa: SLF001 -- as above
    if left or has_more or host.is_loaded:
        return f"{host.tp}: {left} wait, more is to be done: {has_more}, loaded: {host.is_loaded}"
    return None


@of_method(ShardHost, "_write")
def write(host: ShardHost[Any]) -> Generator[None, None, Broken]:
    """What a shard decided is dropped with it, even while it is written.

    Nothing is written that was decided on what the log refused.
    """
    shard, wanted = host._shard, host._unwritten[0]  # noqa: SLF001 -- as above
    refused = _refused(host)
    if refused is not None:
        return f"{host.tp}: {wanted} is written behind what was refused: {refused}"
    if len(host._in_flight) >= BATCHES_IN_FLIGHT_MAX:  # noqa: SLF001 -- as above
        return f"{host.tp}: {len(host._in_flight)} batches are on their way, and one more follows"  # noqa: SLF001 -- as above
    yield
    if host._shard is shard:  # noqa: SLF001 -- as above
        return None
    is_kept = any(each is wanted for _, each in host._in_flight)  # noqa: SLF001 -- as above
    return f"{host.tp}: {wanted} is of a shard that was dropped" if is_kept else None


@of_method(ShardHost, "_begun")
def begun(
    host: ShardHost[Any], waited_for: BegunProduce, write: object
) -> Generator[None, None, Broken]:
    """What is waited for is what the shard of now decided."""
    del waited_for
    is_loaded = host.is_loaded
    yield
    return None if is_loaded else f"{host.tp}: {write} is waited for, and there is no shard"


@of_method(ShardHost, "_load")
def loaded(host: ShardHost[Any]) -> Generator[None, None, Broken]:
    """Who asks a shard that was just loaded waits until all of its log is replicated."""
    yield
    if not host.is_loaded or host._in_flight:  # noqa: SLF001 -- as above
        return None
    reads = host._log._ports.reads  # noqa: SLF001 -- as above
    if not isinstance(reads, LedLogs):
        return None
    replica = reads._state.hosted.online_replica(host.tp)  # noqa: SLF001 -- as above
    if replica is None or not replica.partition.is_leader:
        return None
    end, committed = replica.partition.next_offset, replica.partition.high_watermark
    return None if committed >= end else f"{host.tp} is committed up to {committed} of {end} only"


@of_method(ShardHost, "begin")
def begin(
    host: ShardHost[Any], tasks: asyncio.TaskGroup, leader_epoch: int
) -> Generator[None, None, Broken]:
    """In a later leader epoch a log that could not be read is read again."""
    del tasks
    before = host.leader_epoch
    yield
    if host.leader_epoch != max(before, leader_epoch) or host._task is None:  # noqa: SLF001 -- as above
        return f"{host.tp} is in epoch {host.leader_epoch}, {leader_epoch} begins"
    is_stuck = leader_epoch > before and host.is_unreadable
    return f"{host.tp} is not read again in epoch {leader_epoch}" if is_stuck else None


@of_method(Shards, "lead")
def lead(
    shards: Shards[Any], tp: TopicPartition, leader_epoch: int
) -> Generator[None, None, Broken]:
    """Who leads a partition has one shard for it, in this leader epoch or a later one."""
    is_running = shards._tasks is not None  # noqa: SLF001 -- as above
    before = [each for each in shards.hosts() if each.tp == tp]
    yield
    hosts = [each for each in shards.hosts() if each.tp == tp]
    if not is_running:
        return f"{tp} is led, and nobody works" if hosts != before else None
    if len(hosts) != 1 or (before and hosts != before):
        return f"{tp} has {len(hosts)} shards, before there were {len(before)}"
    is_of_now = hosts[0].leader_epoch >= leader_epoch
    return None if is_of_now else f"{tp} is led in {hosts[0].leader_epoch}, not {leader_epoch}"


@of_function(coordination.partition_for)
def partition_for(key: str, partition_count: int) -> Generator[None, int, Broken]:
    """A key belongs where Java's hash of it says, whoever is asked."""
    found = yield
    units = array("H", key.encode("utf-16-le", "surrogatepass"))
    hashed = sum(unit * pow(31, power, 1 << 32) for power, unit in enumerate(reversed(units)))
    signed = (hashed + (1 << 31)) % (1 << 32) - (1 << 31)
    wanted = 0 if signed == -(1 << 31) else abs(signed) % partition_count
    return None if found == wanted else f"{key!r} belongs to {wanted}, not to {found}"


@of_function(commit_offsets)
def committed_offsets(
    groups: object, commit: Commit, codes: Sequence[ErrorCode], check: object = None
) -> Generator[None, Sequence[ErrorCode], Broken]:
    """What a request says of a partition that nobody knows stays, and each has its own code."""
    del groups, check
    told = yield
    is_kept = all(
        was is ErrorCode.NONE or was is now for was, now in zip(codes, told, strict=False)
    )
    is_whole = len(told) == len(codes) and list(codes).count(ErrorCode.NONE) == len(commit.offsets)
    return None if is_kept and is_whole else f"{list(told)} of {list(codes)}"


@of_method(Shards, "resign")
def resign(shards: Shards[Any], tp: TopicPartition) -> Generator[None, None, Broken]:
    """Who does not lead a partition any more answers for no key of it."""
    hosts = [each for each in shards.hosts() if each.tp == tp]
    yield
    is_left = any(each.tp == tp for each in shards.hosts())
    is_loaded = any(each.is_loaded for each in hosts)
    return f"{tp} is led: {is_left}, loaded: {is_loaded}" if is_left or is_loaded else None


@of_method(CoordinatorRelay, "partitions_deleted")
def partitions_deleted(
    relay: CoordinatorRelay, tps: Sequence[TopicPartition]
) -> Generator[None, None, Broken]:
    """Offsets of partitions that are no more are forgotten, in the log and in transactions, too.

    Nobody is told of deletions where nothing was deleted.
    """
    loaded = [each for each in relay._groups().hosts() if each.is_loaded]  # noqa: SLF001 -- as above
    had = [any(_has_offsets_in(each.shard, tps)) for each in loaded]
    yield
    if not tps:
        return "told of deletions, and of no partition"
    for host, is_concerned in zip(loaded, had, strict=True):
        is_left = host.is_loaded and any(_has_offsets_in(host.shard, tps))
        is_written = bool(host._unwritten)  # noqa: SLF001 -- as above
        if is_left or (is_concerned and not is_written):
            return f"offsets in {tps} are there: {is_left}, tombstones: {is_written}"
    return None


def _has_offsets_in(
    shard: GroupShard, tps: Sequence[TopicPartition]
) -> Generator[bool, None, None]:
    offsets = shard.offsets
    for group_id in offsets.group_ids():
        yield not offsets.committed(group_id).keys().isdisjoint(tps)
    for groups in offsets._pending.values():  # noqa: SLF001 -- as above
        for pending in groups.values():
            yield not pending.keys().isdisjoint(tps)


# Transactions.


@of_method(Transactions, "_complete")
def complete(
    transactions: Transactions,
    host: ShardHost[TransactionShard],
    shard: TransactionShard,
    due: MarkersDue,
) -> Generator[None, None, Broken]:
    """A transaction is completed by the shard that decided its end, and by no later one."""
    del transactions
    before = None if host._shard is None else host._shard.get(due.transactional_id)  # noqa: SLF001 -- as above
    is_same = host.holds(shard)
    yield
    now = None if host._shard is None else host._shard.get(due.transactional_id)  # noqa: SLF001 -- as above
    return None if is_same or now == before else f"{now} was {before}, and {due} is of before"
