"""What a leader's engine promises to those who fetch, and of what it counts and reports of its Isr.

Source: ReplicaManager.scala readFromLog, Partition.scala handleAlterPartitionUpdate; KIP-320,
KIP-392, KIP-497.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from broker.context import Context
from broker.core.append import PreparedAppend
from broker.engine.log.logs import Logs
from broker.engine.move.moves import Moves
from broker.engine.replica import Replica
from broker.engine.serve.fetch import Fetches
from broker.engine.serve.isr_reporter import IsrReporter, LedReplica, _Sent
from broker.engine.serve.produce import Produces
from broker.engine.serve.reading import Reading
from broker.engine.types import FetchParams, FetchPart, FetchResult, ProducePart
from broker.handlers import fetch as fetch_handler
from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID
from protocol.messages.control import AlterPartitionResponsePartitionData
from simulation.contracts.broker.partition import refusal
from simulation.contracts.contract import Broken, of_function, of_method
from simulation.contracts.logs.transactions import stable_offset

_ANY_REPLICA_SINCE: Final = 11
"""The first version of Fetch in which consumers may read from any replica (KIP-392)."""


def _refusal(reading: Reading, replica: Replica, part: FetchPart) -> ErrorCode:
    """Return why this replica is not the one that is meant."""
    if part.topic_id not in (replica.topic_id, ZERO_UUID):
        return ErrorCode.INCONSISTENT_TOPIC_ID
    epoch, leader_only = part.current_leader_epoch, reading.params.leader_only
    return refusal(replica.partition, epoch, leader_only=leader_only)


@of_method(Fetches, "_look")
def look(
    fetches: Fetches, reading: Reading, index: int, *, is_first: bool
) -> Generator[None, FetchResult, Broken]:
    """Only the replica that is meant is read, within its log, and tells where that stands.

    What is refused is answered at once.
    """
    part = reading.parts[index]
    state = fetches._state  # noqa: SLF001 -- nothing public has it
    replica = state.hosted.online_replica(part.tp)
    wanted = state.absence(part.tp) if replica is None else _refusal(reading, replica, part)
    result = yield
    if result.error_code is not ErrorCode.NONE and not reading.has_news:
        return f"{result.error_code.name} for {part.tp} waits"
    if replica is None or wanted is not ErrorCode.NONE:
        is_right = result.error_code is wanted
        return None if is_right else f"{part} is answered {result.error_code.name}, not {wanted}"
    if result.error_code is not ErrorCode.NONE:
        return None
    return _misread(reading, replica, part, result)


def _misread(reading: Reading, replica: Replica, part: FetchPart, result: FetchResult) -> Broken:
    """Say what is wrong with an answer without an error."""
    partition = replica.partition
    told = (result.high_watermark, result.last_stable_offset, result.log_start_offset)
    committed, start = partition.high_watermark, partition.log_start_offset
    stands = (committed, stable_offset(partition.producers, committed, start), start)
    if told != stands:
        return f"{part.tp} stands at {stands}, told is {told}"
    is_sent_on = result.diverging_epoch is not None or result.preferred_read_replica >= 0
    is_within = start <= part.fetch_offset <= partition.log_end_offset
    if not is_within and not is_sent_on:
        return f"{part.tp} is read from {part.fetch_offset}: {stands}"
    if is_sent_on and (result.records_size_bytes or not reading.has_news):
        return f"who reads {part.tp} is sent on, and gets {result}"
    return None


@of_method(Fetches, "_unregister")
def unregister(fetches: Fetches, reading: Reading) -> Generator[None, None, Broken]:
    """Nothing is kept of a fetch that is over."""
    yield
    polls = fetches._polls.get(reading.params.replica_id, {})  # noqa: SLF001 -- as above
    kept = [
        str(replica.tp)
        for replica in reading.waiting_at
        for waiters in (replica.followers, replica.consumers)
        if reading.delayed in waiters._waits  # noqa: SLF001 -- as above
    ]
    return f"{kept} keep it" if kept or reading.delayed in polls else None


@of_function(fetch_handler._read)  # noqa: SLF001 -- the rule of a handler
def read(
    context: Context, params: FetchParams, parts: Sequence[FetchPart], version: int
) -> Generator[None, list[FetchResult], Broken]:
    """Clients of before KIP-392 read from leaders, and so do followers."""
    yield
    if not params.leader_only and (version < _ANY_REPLICA_SINCE or params.replica_id >= 0):
        return f"{params} of version {version} is read from any replica"
    return None


@of_method(Produces, "_count")
def count(
    produces: Produces, prepared: PreparedAppend, part: ProducePart
) -> Generator[None, None, Broken]:
    """Each message that came in is counted once, and so are its bytes as they came."""
    counters = produces._counters  # noqa: SLF001 -- nothing public has it
    messages, size_bytes = counters.messages_in.value, counters.bytes_in.value
    yield
    messages = counters.messages_in.value - messages
    size_bytes = counters.bytes_in.value - size_bytes
    came_bytes = len(part.records) if part.received_bytes is None else part.received_bytes
    if size_bytes == came_bytes and prepared.first_offset + messages == prepared.last_offset + 1:
        return None
    return f"{messages} messages of {size_bytes} bytes are counted: {prepared}, {came_bytes} bytes"


@of_method(IsrReporter, "propose")
def propose(reporter: IsrReporter, replica: LedReplica) -> Generator[None, None, Broken]:
    """What is proposed, and nothing else, is told to the controller."""
    if replica.partition.isr.proposed is None:
        return f"{replica.tp} proposes nothing"
    yield
    key = (replica.topic_id, replica.tp.partition)
    is_told = reporter._wanted.get(key) is replica and reporter._wake.is_set()  # noqa: SLF001
    return None if is_told else f"the Isr of {replica.tp} is told to nobody"


@of_method(IsrReporter, "_report")
def report(reporter: IsrReporter) -> Generator[None, bool, Broken]:
    """What is proposed is asked for until it is answered, whatever became of the request.

    A refusal that a leader waits out is counted; the next LeaderAndIsr ends it.
    """
    sent = {
        key: (replica, replica.partition.leader_epoch, replica.partition.isr)
        for key, replica in reporter._wanted.items()  # noqa: SLF001 -- nothing public has it
    }
    refused = reporter._ports.refused_count.value  # noqa: SLF001 -- as above
    is_done = yield
    left = [
        str(replica.tp)
        for key, (replica, leader_epoch, isr) in sent.items()
        if key not in reporter._wanted  # noqa: SLF001 -- as above
        and replica.partition.is_leader
        and replica.partition.isr.proposed is not None
        and (replica.partition.leader_epoch, replica.partition.isr) == (leader_epoch, isr)
    ]
    if len(left) > reporter._ports.refused_count.value - refused:  # noqa: SLF001 -- as above
        return f"the Isrs that {left} propose are asked for no more"
    if is_done and reporter._wanted and not reporter._wake.is_set():  # noqa: SLF001 -- as above
        return "nobody is woken to ask for what is wanted"
    return None


@of_method(IsrReporter, "_take")
def take(
    reporter: IsrReporter, sent: _Sent, answer: AlterPartitionResponsePartitionData
) -> Generator[None, bool, Broken]:
    """An answer counts in the leader epoch in which it was asked for, and not later."""
    partition = sent.replica.partition
    before = partition.isr
    is_late = partition.leader_epoch != sent.leader_epoch or not partition.is_leader
    is_answered = yield
    if is_late:
        is_kept = partition.isr is before and is_answered
        return None if is_kept else f"{before} of {sent.replica.tp} becomes {partition.isr}"
    if answer.error_code == ErrorCode.NONE:
        is_new = answer.leader_epoch <= sent.leader_epoch
        is_new = is_new and answer.partition_epoch >= before.partition_epoch
        if is_new and partition.isr.isr != tuple(answer.isr):
            return f"{answer} leaves {partition.isr} of {sent.replica.tp}"
    return None


@of_method(Logs, "raise_log_start")
def raise_log_start(_: Logs, replica: Replica, offset: int) -> Generator[None, None, Broken]:
    """A deletion is written down at once, and reaches the copy that is made of its log."""
    before = replica.partition.log_start_offset
    yield
    start = replica.partition.log_start_offset
    if replica.is_ended or start == before:
        return None
    if replica.log_start_write is None or replica.kept_log_start > before:
        return f"the start of {replica.tp} goes from {before} to {start} and is not written down"
    future = None if replica.future is None else replica.future.log
    if future is None or not future.dir.is_online:
        return None
    copied = future.positions
    if copied.log_start_offset < start <= copied.log_end_offset:
        return f"{replica.tp} begins at {start}, its copy at {copied.log_start_offset}"
    return None


@of_method(Moves, "_end")
def end(moves: Moves, replica: Replica) -> Generator[None, object, Broken]:
    """A replica whose move has ended is cleaned again, and no mover works on it.

    Nothing is said of one that has none: its mover may be about to see that the move is done.
    """
    moved = replica.future is not None
    yield
    if not moved:
        return None
    if replica.future is not None:
        return f"{replica.tp} moves still"
    if moves.state.cleaning_pauses.is_paused(replica.tp):
        return f"{replica.tp} is not cleaned any more"
    has_mover = moves._mover(replica.tp).has(replica.tp)  # noqa: SLF001 -- nothing public has it
    return f"{replica.tp} is still copied" if has_mover else None
