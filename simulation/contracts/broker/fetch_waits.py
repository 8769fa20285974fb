"""What a fetch promises while it waits: for how much, for which disks, and in how much memory.

Source: DelayedFetch.scala, ReplicaManager.scala readFromLog; KIP-74.
"""

# pyright: reportPrivateUsage=false
# ruff: noqa: SLF001 -- what is promised is of what the engine keeps to itself

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from broker.engine.fetch_room import FetchRoom
from broker.engine.replica import Replica
from broker.engine.serve.disk_reads import LATE_READS_MAX, DiskRead, DiskReads, ReadSpan
from broker.engine.serve.fetch import Fetches
from broker.engine.serve.reading import Reading
from broker.engine.types import FetchParams, FetchPart, FetchResult
from protocol.errors import ErrorCode
from simulation.contracts.contract import Broken, of_method

_CLOCK_S: Final = 0.001
"""By as much a loop may find that it is time before its clock says so."""


def _is_news(result: FetchResult) -> bool:
    """Tell whether a result is answered however few bytes there are."""
    is_sent_on = result.diverging_epoch is not None or result.preferred_read_replica >= 0
    return is_sent_on or result.error_code is not ErrorCode.NONE


def _given_bytes(reading: Reading) -> int:
    return sum(result.records_size_bytes for result in reading.results)


def _miscounted(reading: Reading) -> Broken:
    """Say what a fetch has that it does not count, or counts and has not."""
    given, reserved = _given_bytes(reading), sum(read.reserved_bytes for read in reading.disk)
    counted = (reading.size_bytes, reading._room._held_bytes)
    if counted != (given, given + reserved):
        return f"{given} bytes are given and {reserved} to come, counted are {counted}"
    return None


@of_method(Fetches, "_look_at_all")
def look_at_all(fetches: Fetches, reading: Reading) -> Generator[None, bool, Broken]:
    """A fetch that finds too little waits at all its partitions; one with enough does not."""
    params = reading.params
    least = min(params.min_bytes, reading.left_bytes)
    waits = yield
    is_enough = _given_bytes(reading) >= least or any(map(_is_news, reading.results))
    if waits is not (params.max_wait_ms > 0 and not is_enough):
        return f"{params} has {_given_bytes(reading)} of {least} bytes, waits: {waits}"
    if waits and (missing := _waits_not_at(fetches, reading)):
        return f"{params} waits for {missing}, and is not woken there"
    return _miscounted(reading)


def _waits_not_at(fetches: Fetches, reading: Reading) -> list[str]:
    """Return the online partitions of a fetch that do not know that it waits."""
    missing: list[str] = []
    for part in reading.parts:
        replica = fetches._state.hosted.online_replica(part.tp)
        if replica is None:
            continue
        waiters = replica.followers if reading.params.replica_id >= 0 else replica.consumers
        if reading.delayed not in waiters._waits:
            missing.append(str(part.tp))
    return missing


@of_method(Fetches, "_wait_for_enough")
def wait_for_enough(
    fetches: Fetches, reading: Reading, deadline_s: float, *, may_wait: bool
) -> Generator[None, list[FetchResult], Broken]:
    """A fetch that waits is answered with enough or at its time, or when it is told to end."""
    least = reading._min_bytes
    results = yield
    given = _given_bytes(reading)
    is_enough = given >= least or any(map(_is_news, results)) or reading.has_news
    is_ended = reading.delayed.is_force_completed or reading.is_wanted
    early_s = deadline_s - fetches._state.loop.time()
    if may_wait and not is_enough and not is_ended and early_s > _CLOCK_S:
        return f"{reading.params} ends {early_s:g} s early with {given} of {least} bytes"
    return _miscounted(reading)


@of_method(Fetches, "fetch")
def fetch(
    _: Fetches, params: FetchParams, parts: Sequence[FetchPart]
) -> Generator[None, list[FetchResult], Broken]:
    """An answer is as large as was asked for at most, but for one batch that must be given."""
    results = yield
    sizes = [result.records_size_bytes for result in results]
    if sum(sizes) - max(sizes, default=0) > max(params.max_bytes, 0):
        return f"{params} is given {sizes}"
    pairs = zip(parts, sizes, strict=True)
    large = [str(part.tp) for part, size in pairs if size > max(part.max_bytes, 0)]
    return f"{large} give more than was asked for" if len(large) > 1 else None


@of_method(FetchRoom, "let_go")
def let_go(room: FetchRoom) -> Generator[None, None, Broken]:
    """A fetch that is over holds nothing, and what it held is free."""
    budget, held = room._budget, room._held_bytes
    is_waited_for, before = budget.waiting_count > 0, budget.held_bytes
    yield
    if room._held_bytes:
        return f"{room._held_bytes} bytes are held still"
    # Who waited may have been given what is free now.
    if not is_waited_for and budget.held_bytes != before - held:
        return f"{held} of {before} bytes are let go, held are {budget.held_bytes}"
    return None


@of_method(DiskReads, "begin")
def begin(
    reads: DiskReads, _: int, replica: Replica, span: ReadSpan
) -> Generator[None, DiskRead | None, Broken]:
    """A disk that stands still gets no more reads; what it gave late serves who may have it."""
    if span.max_bytes <= 0 and not span.min_one:
        return f"{replica.log_dir} is read for no bytes of {replica.tp}"
    late = reads._late.get((replica, span.offset))
    stands_still = bool(reads._stalled.get(replica.log_dir))
    begun = yield
    if begun is None:
        is_refused = stands_still or not replica.log.dir.is_online
        return None if is_refused else f"{replica.log_dir} is not read for {replica.tp}"
    if late is None or begun.future is not late.future:
        return f"{replica.log_dir} stands still and is read on" if stands_still else None
    if not replica.log.is_still(late.token) or begun.span != span:
        return f"what {late.span} gave of another log serves {span}"
    size = late.future.result().size_bytes
    is_less = late.span.up_to <= span.up_to and (size <= span.max_bytes or span.min_one)
    has_all = late.span.with_aborted or not span.with_aborted
    return None if is_less and has_all else f"{size} bytes of {late.span} serve {span}"


@of_method(DiskReads, "wait")
def wait(reads: DiskReads, waited_for: Sequence[DiskRead]) -> Generator[None, None, Broken]:
    """Who was waited for in vain gets no more reads until it has given what it was asked for."""
    yield
    late = [read.path for read in waited_for if not read.future.done()]
    asked = [path for path in late if not reads._stalled.get(path) or path not in reads._slow]
    return f"{asked} are read on, and waited for as long" if asked else None


@of_method(DiskReads, "_came_late")
def came_late(reads: DiskReads, read: DiskRead, _: object) -> Generator[None, None, Broken]:
    """A disk that has given all that it was asked for is read again; a little of it is kept."""
    before = reads._stalled[read.path]
    yield
    if reads._stalled[read.path] != before - 1 or before < 1:
        return f"{before} reads of {read.path} were late, then {reads._stalled[read.path]}"
    is_kept = reads._late.get((read.replica, read.span.offset)) is read
    has_failed = read.future.cancelled() or read.future.exception() is not None
    if is_kept is has_failed or len(reads._late) > LATE_READS_MAX:
        return f"{read.span} of {read.replica.tp} is kept: {is_kept}, of {len(reads._late)}"
    return None
