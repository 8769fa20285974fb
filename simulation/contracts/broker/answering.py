"""What is promised of answers to producers, and to those who ask for offsets.

Source: ReplicaManager.scala appendRecords, Partition.scala fetchOffsetForTimestamp; KIP-207,
KIP-320.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Sequence

from broker.context import Context
from broker.core.delayed import DelayedProduce
from broker.core.isolation_level import READ_COMMITTED
from broker.engine.serve.fetch import Fetches
from broker.engine.serve.offsets import Offsets
from broker.engine.serve.produce import BegunProduce, Produces
from broker.engine.types import (
    FetchParams,
    FetchPart,
    FetchResult,
    ListedOffset,
    ProducePart,
    ProduceResult,
)
from broker.handlers import list_offsets as list_offsets_handler
from broker.handlers import offset_for_leader_epoch as epochs_handler
from protocol.errors import ErrorCode, Malformed
from protocol.ids import NO_EPOCH, TopicPartition
from protocol.messages.offsets import (
    CONSUMER,
    EpochEndOffset,
    ListOffsetsPartition,
    ListOffsetsRequest,
    OffsetForLeaderPartition,
)
from protocol.messages.produce import ACKS_ALL, ACKS_NONE
from protocol.records.entries import read_stored_header
from simulation.contracts.contract import Broken, of_function, of_method


@of_method(Produces, "_append")
def append(
    produces: Produces, part: ProducePart, index: int, acks: int, delayed: DelayedProduce
) -> Generator[None, ProduceResult, Broken]:
    """What is answered at once is where acks wants it: a duplicate, too."""
    try:
        delta = read_stored_header(part.records).last_offset_delta
    except Malformed:
        return None
    result = yield
    replica = produces._state.hosted.online_replica(part.tp)  # noqa: SLF001 -- nothing public has it
    is_told = delayed.codes[index] is ErrorCode.NONE and acks != ACKS_NONE
    if replica is None or not is_told or result.base_offset < 0:
        return None
    end, partition = result.base_offset + delta + 1, replica.partition
    reached = partition.high_watermark if acks == ACKS_ALL else partition.log_end_offset
    return f"acks={acks} up to {end} of {part.tp}, {reached} is reached" if end > reached else None


@of_method(Produces, "_append")
def append_waits(
    produces: Produces, part: ProducePart, index: int, acks: int, delayed: DelayedProduce
) -> Generator[None, ProduceResult, Broken]:
    """Who is not answered at once waits for the end of what is appended, as acks asks."""
    result = yield
    if delayed.codes[index] is not None:
        return None
    replica = produces._state.hosted.online_replica(part.tp)  # noqa: SLF001 -- nothing public has it
    if replica is None or acks == ACKS_NONE:
        return f"acks={acks} for {part.tp} waits for nobody"
    waiters = replica.replicated if acks == ACKS_ALL else replica.written
    wanted = [end for end, other, at in waiters._waits if other is delayed and at == index]  # noqa: SLF001
    delta = read_stored_header(part.records).last_offset_delta
    end = result.base_offset + delta + 1
    return None if wanted == [end] else f"acks={acks} up to {end} of {part.tp} waits for {wanted}"


@of_method(Produces, "_until_ready")
def until_ready(produces: Produces, parts: Sequence[ProducePart]) -> Generator[None, None, Broken]:
    """Nobody appends while a log takes nothing, or its disk has more to do than it may take."""
    yield
    online = produces._state.hosted.online_replica  # noqa: SLF001 -- as above
    replicas = [replica for part in parts if (replica := online(part.tp)) is not None]
    busy = [
        str(replica.tp)
        for replica in replicas
        if replica.log.unwritable is not None or not replica.log.dir.queue.has_room()
    ]
    return f"{busy} take nothing, and are written to" if busy else None


@of_method(BegunProduce, "results")
def results(begun: BegunProduce) -> Generator[None, list[ProduceResult], Broken]:
    """Each part is answered with its code, an error names no offset, and nobody waits any more."""
    codes = begun.delayed.codes
    answers = yield
    told = [(answer.error_code, answer.base_offset < 0) for answer in answers]
    if [code for code, _ in told] != codes:
        return f"{codes} are told as {told}"
    if wrong := [each for each in told if each[0] is not ErrorCode.NONE and not each[1]]:
        return f"{wrong}: what was not appended has no offset"
    online = begun._state.hosted.online_replica  # noqa: SLF001 -- as above
    replicas = [replica for tp in begun._tps if (replica := online(tp)) is not None]  # noqa: SLF001
    waits = [
        str(replica.tp)
        for replica in replicas
        for waiters in (replica.written, replica.replicated)
        if any(each[1] is begun.delayed for each in waiters._waits)  # noqa: SLF001 -- as above
    ]
    return f"it is answered, and waits at {waits}" if waits else None


@of_method(Offsets, "list_offsets")
def list_offsets(
    offsets: Offsets,
    tp: TopicPartition,
    timestamp: int,
    *,
    current_leader_epoch: int,
    isolation_level: int,
    replica_id: int,
) -> Generator[None, ListedOffset, Broken]:
    """A consumer is told no offset behind what it may read, and only in the epoch that it knows."""
    replica = offsets.state.hosted.online_replica(tp)
    leader_epoch = NO_EPOCH if replica is None else replica.leader_epoch
    listed = yield
    if listed.error_code is not ErrorCode.NONE:
        return None
    if replica is None or current_leader_epoch not in {NO_EPOCH, leader_epoch}:
        return f"{tp} of {leader_epoch}, asked of {current_leader_epoch}, is told: {listed}"
    partition = replica.partition
    if replica_id != CONSUMER or replica.is_ended or partition.leader_epoch != leader_epoch:
        return None
    is_committed = isolation_level == READ_COMMITTED
    most = partition.last_stable_offset if is_committed else partition.high_watermark
    most = max(most, partition.log_start_offset)
    return f"{tp} may be read up to {most}, told is {listed}" if listed.offset > most else None


def _is_another_epoch(context: Context, tp: TopicPartition, known: int) -> bool:
    """Tell whether somebody knows another leader epoch than the replica that is asked."""
    offsets = context.offsets
    replica = offsets.state.hosted.online_replica(tp) if isinstance(offsets, Offsets) else None
    return replica is not None and known not in {NO_EPOCH, replica.leader_epoch}


@of_function(list_offsets_handler._ask)  # noqa: SLF001 -- it takes the request apart
def ask(
    context: Context, request: ListOffsetsRequest, tp: TopicPartition, asked: ListOffsetsPartition
) -> Generator[None, ListedOffset, Broken]:
    """Who knows another leader epoch than the leader's is told no offset."""
    is_another = _is_another_epoch(context, tp, asked.current_leader_epoch)
    listed = yield
    is_told = is_another and listed.error_code is ErrorCode.NONE
    return f"{request.replica_id} asks {asked} of {tp}, is told {listed}" if is_told else None


@of_function(epochs_handler._answer)  # noqa: SLF001 -- as above
def tell(
    context: Context, replica_id: int, topic: str, asked: OffsetForLeaderPartition
) -> Generator[None, EpochEndOffset, Broken]:
    """Who knows another leader epoch than the leader's is told of no epoch's end."""
    tp = TopicPartition(topic, asked.partition)
    is_another = _is_another_epoch(context, tp, asked.current_leader_epoch)
    answer = yield
    is_told = is_another and answer.error_code == ErrorCode.NONE
    return f"{replica_id} asks {asked} of {tp}, is told {answer}" if is_told else None


@of_method(Fetches, "fetch")
def fetch(
    _: Fetches, params: FetchParams, parts: Sequence[FetchPart]
) -> Generator[None, list[FetchResult], Broken]:
    """Who replicates a log fetches from its leader, and is answered for each partition."""
    results = yield
    if params.replica_id >= 0 and not params.leader_only:
        return f"{params.replica_id} may fetch from anybody"
    return None if len(results) == len(parts) else f"{len(results)} answers to {len(parts)} parts"
