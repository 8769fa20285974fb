"""What a log of a broker promises to those who change it, and a replica to those who wait for it.

A log is cut, emptied and replaced while appends and requests are on their way to it.
Source: UnifiedLog.scala, LogManager.scala replaceCurrentWithFutureLog, DelayedOperation.scala.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeAlias

from broker.core.delayed import ProduceWaiters
from broker.core.partition import Partition
from broker.core.producers import ProducerStates
from broker.engine.hosted_log import HostedLog
from broker.engine.replica import Replica
from protocol.errors import ErrorCode
from protocol.ports import Buffer
from protocol.records.batch import BatchHeader
from simulation.contracts.contract import Broken, of_method
from simulation.contracts.logs.retention import followers_starts

Log: TypeAlias = "HostedLog[Any]"
"""Any: a current log's positions are its partition, a future one's are not."""


@of_method(HostedLog, "append")
def append(
    log: Log,
    records: Sequence[Buffer],
    end_offset: int,
    on_written: Callable[[bool], None],
    *,
    batches: Sequence[BatchHeader] = (),
    now_ms: int,
) -> Generator[None, asyncio.Future[int], Broken]:
    """Nobody appends to a log that is being cut, or whose place another one takes.

    What came then would be missing in the log that takes its place.
    """
    is_held = log.swapping.ended is not None or log.cutting.ended is not None
    place, next_offset = log.place, log.positions.next_offset
    yield
    if is_held or log.is_promoting:
        return f"{end_offset} is appended while {log.log_dir} has it {place.name}, held: {is_held}"
    if log.positions.next_offset != end_offset:
        return f"from {next_offset} up to {end_offset}, it goes on at {log.positions.next_offset}"
    return None


@of_method(HostedLog, "cut")
def cut(
    log: Log, offset: int, *, on_producers: Callable[[ProducerStates], None] | None = None
) -> Generator[None, asyncio.Future[bool], Broken]:
    """A log that is cut ends there, and what was on its way to it counts no more."""
    token, end = log.token, min(log.positions.next_offset, offset)
    yield
    if log.is_still(token) or log.positions.next_offset != end:
        return f"{log.log_dir} is cut at {offset}, it goes on at {log.positions.next_offset}"
    return None


@of_method(HostedLog, "restart_at")
def restart_at(
    log: Log, offset: int, *, now_ms: int
) -> Generator[None, asyncio.Future[bool], Broken]:
    """A log that is emptied begins anew, and what was on its way to it counts no more."""
    token = log.token
    yield
    stands = (log.positions.log_start_offset, log.positions.next_offset)
    if log.is_still(token) or stands != (offset, offset):
        return f"{log.log_dir} is emptied to begin at {offset}, and stands at {stands}"
    return None


@of_method(HostedLog, "_on_cut")
def on_cut(
    log: Log,
    found: list[ProducerStates],
    on_producers: Callable[[ProducerStates], None] | None,
    cut: asyncio.Future[bool],
) -> Generator[None, None, Broken]:
    """After a cut a log knows the producers that are left in it, and is writable again."""
    is_last = log._cut_job is cut  # noqa: SLF001 -- nothing public has it
    yield
    if not is_last:
        return None
    if log.cutting.ended is not None:
        return f"nobody may write to {log.log_dir} after its cut"
    is_cut = not cut.cancelled() and cut.exception() is None and found
    if is_cut and isinstance(log.positions, Partition):
        producers = log.positions.producers
        is_told = on_producers in {None, producers.reload}
        if is_told and producers.states is not found[0]:
            return f"{log.positions.tp} does not know the producers that its cut left"
    return None


@of_method(HostedLog, "become")
def become(log: Log, promoted: Log) -> Generator[None, None, Broken]:
    """A log whose place another one takes has nothing that the other one lacks.

    Nor has the other one anything that was deleted.
    """
    here, there, token = log.positions, promoted.positions, log.token
    begin, end, next_offset = here.log_start_offset, here.log_end_offset, here.next_offset
    yield
    if not there.log_end_offset == end == next_offset:
        return f"{end} is the end, {next_offset} comes next; the copy has {there.log_end_offset}"
    if there.log_start_offset < begin:
        return f"what is deleted up to {begin} is back from {there.log_start_offset} on"
    if log.files is not promoted.files or log.dir is not promoted.dir or log.is_still(token):
        return f"it stays in {log.log_dir}"
    return None


def _first(waiters: ProduceWaiters) -> int | None:
    """Return the smallest offset that somebody waits for."""
    waits = waiters._waits  # noqa: SLF001 -- nothing public has it
    return min((offset for offset, _, _ in waits), default=None)


@of_method(Replica, "on_written")
def on_written(replica: Replica) -> Generator[None, None, Broken]:
    """Nobody waits for what is written."""
    yield
    first, end = _first(replica.written), replica.partition.log_end_offset
    is_late = first is not None and first <= end
    return f"up to {end} is written, {first} is waited for" if is_late else None


@of_method(Replica, "on_high_watermark")
def on_high_watermark(replica: Replica) -> Generator[None, None, Broken]:
    """Nobody waits for what is committed."""
    yield
    first, committed = _first(replica.replicated), replica.partition.high_watermark
    is_late = first is not None and first <= committed
    return f"up to {committed} is committed, {first} is waited for" if is_late else None


def deletions_overdue(replica: Replica) -> Broken:
    """Say who waits for a deletion that all that may lead have."""
    first = _first(replica.deleted)
    is_late = first is not None and first <= replica.low_watermark
    return f"{replica.tp} begins at {first} everywhere, which is waited for" if is_late else None


@of_method(Replica, "on_log_start")
def on_log_start(replica: Replica) -> Generator[None, None, Broken]:
    """Nobody waits for a deletion that all that may lead have."""
    yield
    return deletions_overdue(replica)


@of_method(Replica, "low_watermark")
def low_watermark(replica: Replica) -> Generator[None, int, Broken]:
    """A deletion is told when it is written down here, and all that may lead have it."""
    lowest = yield
    partition = replica.partition
    starts = [partition.log_start_offset, *followers_starts(partition).values()]
    if replica.log_start_write is not None:
        starts.append(replica.kept_log_start)
    if replica.future is not None and replica.future.log is not None:
        starts.append(replica.future.log.files.log_start_offset)
    return None if lowest == min(starts) else f"{lowest}, not {min(starts)} of {starts}"


@of_method(Replica, "answer_waiters")
def answer_waiters(replica: Replica, code: ErrorCode) -> Generator[None, None, Broken]:
    """Nobody waits for a replica that leads no more."""
    yield
    waiting = [len(each) for each in (replica.written, replica.replicated, replica.deleted)]
    return f"{waiting} wait for {replica.tp} after {code.name}" if any(waiting) else None


@of_method(Replica, "end")
def end(replica: Replica, code: ErrorCode) -> Generator[None, None, Broken]:
    """Nothing that is written late counts for a replica that has ended, and nobody waits for it."""
    token = replica.log.token
    yield
    waiting = [len(each) for each in (replica.written, replica.replicated, replica.deleted)]
    if any(waiting) or not replica.is_ended or replica.log.is_still(token):
        return f"{replica.tp}, {code.name}: {waiting} wait, ended is {replica.is_ended}"
    return None


@of_method(HostedLog, "write_epochs")
def write_epochs(log: Log, entries: object) -> Generator[None, None, Broken]:
    """Nothing is written where no leader epoch has begun or gone."""
    depth = log.queue.queue_depth
    yield
    is_idle = entries is not None or log.queue.queue_depth <= depth
    return None if is_idle else f"{log.log_dir} is to write leader epochs without news of any"
