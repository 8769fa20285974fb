"""What moves between the log dirs of a broker promise.

Source: ReplicaManager.scala alterReplicaLogDirs, ReplicaAlterLogDirsThread.scala; KIP-113.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from typing import Final

from broker.core import future_log as rules
from broker.core.future_log import (
    CleaningPauses,
    CopyErrorAction,
    Move,
    MoveDecision,
    MoveEvent,
    MoveState,
)
from broker.core.hosted import HostedState, ReplicaView
from broker.core.log_dirs import LogDirStates
from broker.engine.future import FutureReplica
from broker.engine.move.mover import Mover, MovingReplica
from broker.engine.move.moves import Moves
from broker.engine.move.moving import MovingLog
from broker.engine.replica import Replica
from broker.lifecycle.engine_events import EngineEventRelay
from broker.storage.partition_log import PartitionLog
from protocol.errors import ErrorCode
from protocol.ids import NO_EPOCH, TopicPartition
from simulation.contracts.contract import Broken, of_function, of_method

_ENDED: Final = (MoveState.SWAPPED, MoveState.CANCELLED)
_AFTER: Final = {
    MoveEvent.TRUNCATED: MoveState.COPYING,
    MoveEvent.CURRENT_TRUNCATED: MoveState.TRUNCATING,
    MoveEvent.EPOCH_CHANGED: MoveState.TRUNCATING,
    MoveEvent.CAUGHT_UP: MoveState.SWAPPING,
    MoveEvent.FELL_BEHIND: MoveState.COPYING,
    MoveEvent.SWAP_DONE: MoveState.SWAPPED,
    MoveEvent.ERROR: MoveState.FAILED,
    MoveEvent.CANCEL: MoveState.CANCELLED,
}
"""Whatever was before. Only a failed move stays so when the current log is cut."""
_PASSING: Final = (
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.INVALID_RECORD,
)
_TRIED: Final = (
    *_PASSING,
    ErrorCode.OFFSET_OUT_OF_RANGE,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.KAFKA_STORAGE_ERROR,
)
_TAKEN: Final = {
    MoveState.TRUNCATING: "TRUNCATED CURRENT_TRUNCATED EPOCH_CHANGED CANCEL",
    MoveState.COPYING: "CURRENT_TRUNCATED EPOCH_CHANGED CAUGHT_UP ERROR CANCEL",
    MoveState.SWAPPING: "FELL_BEHIND EPOCH_CHANGED SWAP_DONE CANCEL",
    MoveState.FAILED: "CURRENT_TRUNCATED EPOCH_CHANGED CANCEL",
}


@of_function(rules.decide_move)
def decide_move(
    tp: TopicPartition, path: str, *, replica: ReplicaView, is_known: bool, log_dirs: LogDirStates
) -> Generator[None, MoveDecision, Broken]:
    """A replica moves where it was last ordered to, and one that is to come is made there.

    A move elsewhere ends, an order to where it is already cancels, the same order again changes
    nothing, and what is refused changes nothing.
    """
    decided = yield
    refused = _refusal(tp, path, replica, log_dirs)
    is_here, is_moving_there = replica.log_dir == path, replica.future_log_dir == path
    if refused is not ErrorCode.NONE or (is_moving_there and not is_here):
        wanted = MoveDecision(refused)
    else:
        abandons = replica.future_log_dir not in (None, path)
        is_online = replica.state is HostedState.ONLINE and replica.log_dir is not None
        missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        missing = ErrorCode.REPLICA_NOT_AVAILABLE if is_known else missing
        error = ErrorCode.NONE if is_online else missing
        if is_online and not is_here and log_dirs.any_offline:
            error = ErrorCode.KAFKA_STORAGE_ERROR
        starts = not is_here and error is ErrorCode.NONE
        wanted = MoveDecision(error, abandons, not is_here, starts)
    return None if decided == wanted else f"{replica} to {path}: {decided}, not {wanted}"


def _refusal(
    tp: TopicPartition, path: str, replica: ReplicaView, log_dirs: LogDirStates
) -> ErrorCode:
    if len(f"{tp.topic}-{tp.partition}.{'0' * 32}-future") > 255:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if not log_dirs.is_configured(path):
        return ErrorCode.LOG_DIR_NOT_FOUND
    is_lost = replica.state is HostedState.OFFLINE
    if log_dirs.is_online(path) and log_dirs.is_cordoned(path):
        return ErrorCode.INVALID_REPLICA_ASSIGNMENT
    if is_lost or not log_dirs.is_online(path):
        return ErrorCode.KAFKA_STORAGE_ERROR
    return ErrorCode.NONE


@of_method(Move, "on")
def on(move: Move, event: MoveEvent) -> Generator[None, bool, Broken]:
    """What happens to a move says where it stands, and its pause of cleaning ends once with it.

    A move that is over stays so.
    """
    before, held = move.state, move._holds_pause  # noqa: SLF001 -- nobody else may know
    releases = yield
    wanted = _AFTER[event]
    if before is MoveState.FAILED and event is MoveEvent.CURRENT_TRUNCATED:
        wanted = MoveState.FAILED
    if before in _ENDED or move.state is not wanted:
        return f"{event.name} turns {before.name} into {move.state.name}, not {wanted.name}"
    is_ended = move.state in _ENDED
    if releases is not (held and is_ended) or (is_ended and not held):
        return f"{event.name}: the pause is released: {releases}, it was held: {held}"
    return None


@of_method(Move, "on_leader_epoch")
def on_leader_epoch(
    move: Move, leader_epoch: int, *, fallback_offset: int
) -> Generator[None, None, Broken]:
    """Under a new leader epoch the copy is checked against the log anew (KAFKA-9654)."""
    state, epoch, fallback = move.state, move.leader_epoch, move.fallback_offset
    yield
    held = (move.state, move.leader_epoch, move.fallback_offset)
    wanted = (state, epoch, fallback)
    if leader_epoch != epoch:
        wanted = (MoveState.TRUNCATING, leader_epoch, fallback_offset)
    return None if held == wanted else f"{held}, not {wanted}, with leader epoch {leader_epoch}"


@of_method(Move, "on_current_truncated")
def on_current_truncated(move: Move, offset: int) -> Generator[None, None, Broken]:
    """Where a log is cut its copy is checked again, and counts as committed no further."""
    failed, fallback = move.state is MoveState.FAILED, move.fallback_offset
    yield
    wanted = MoveState.FAILED if failed else MoveState.TRUNCATING
    if move.state is not wanted or move.fallback_offset != min(fallback, offset):
        return f"cut at {offset}: {move.state.name}, committed {fallback} -> {move.fallback_offset}"
    return None


@of_method(Moves, "on_truncated")
def on_truncated(moves: Moves, replica: Replica, offset: int) -> Generator[None, None, Broken]:
    """A cut of a log is told to the move that copies it."""
    future = replica.future
    is_told = future is not None and not future.is_promoting
    yield
    if future is None or not is_told:
        return None
    is_checked = future.move.state in (MoveState.TRUNCATING, MoveState.FAILED)
    if not is_checked or future.move.fallback_offset > offset:
        return f"{replica.tp} is cut at {offset}, its move goes on: {future.move.state.name}"
    return None


@of_method(Moves, "on_leader_epoch")
def on_accepted(moves: Moves, replica: Replica) -> Generator[None, None, Broken]:
    """A move goes on in the leader epoch of its replica, and no copy is left to nobody.

    But nothing interrupts a swap whose renames have begun.
    """
    future = replica.future
    promoted = future if future is not None and future.is_promoting else None
    before = None if promoted is None else promoted.move.state
    yield
    if promoted is not None and promoted.move.state is not before:
        return f"{replica.tp} changes log dirs, its move is {promoted.move.state.name}"
    future = replica.future
    if future is None or future.log is None or future.is_promoting:
        return None
    epochs = (future.move.leader_epoch, replica.leader_epoch)
    if epochs[0] != epochs[1]:
        return f"{replica.tp} moves in leader epoch {epochs[0]}, which is {epochs[1]}"
    mover = moves._mover(replica.tp)  # noqa: SLF001 -- nothing public has it
    is_alone = future.move.is_active and not mover.has(replica.tp)
    return f"{replica.tp} is copied by nobody" if is_alone else None


@of_method(Moves, "alter")
def alter(
    moves: Moves, parts: Sequence[tuple[TopicPartition, str]]
) -> Generator[None, dict[TopicPartition, ErrorCode], Broken]:
    """An order that was carried out before it came ends what was set for moves, as a swap does."""
    was_moving = moves.state.is_moving
    answers = yield
    events = moves.state.ports.events
    is_done = not (was_moving or moves.state.is_moving or any(answers.values()))
    if not is_done or not isinstance(events, EngineEventRelay):
        return None
    is_told = events._move_throttles._wake.is_set()  # noqa: SLF001 -- nothing public has it
    return None if is_told else f"{list(answers)} are where they belong, the throttle stays"


@of_method(Mover, "_drop")
def drop(mover: Mover, moving: MovingReplica) -> Generator[None, None, Broken]:
    """Only the move that is over is forgotten, not one that was begun for its replica meanwhile."""
    known = mover._moving.get(moving.tp)  # noqa: SLF001 -- nothing public has it
    yield
    left = mover._moving.get(moving.tp)  # noqa: SLF001 -- as above
    wanted = None if known is moving else known
    return None if left is wanted else f"{moving.tp} is copied by {left}, not {wanted}"


@of_function(rules.can_swap)
def can_swap(*, current_end_offset: int, future_end_offset: int) -> Generator[None, bool, Broken]:
    """Logs change places when both have all records."""
    may = yield
    missing = current_end_offset - future_end_offset
    return None if may is (not missing) else f"{may} with {missing} records missing"


@of_function(rules.decide_copy_error)
def decide_copy_error(
    code: ErrorCode, *, fetch_offset: int, current_end_offset: int, epoch_is_newer_now: bool
) -> Generator[None, CopyErrorAction, Broken]:
    """A copy outside of its log is cut or begun anew, and fails by nothing that passes."""
    action = yield
    is_newer = epoch_is_newer_now
    wanted = _met(code, fetch_offset=fetch_offset, end=current_end_offset, is_newer=is_newer)
    return None if action is wanted else f"{action} after {code.name} at {fetch_offset}"


def _met(code: ErrorCode, *, fetch_offset: int, end: int, is_newer: bool) -> CopyErrorAction:
    if code is ErrorCode.OFFSET_OUT_OF_RANGE:
        is_ahead = fetch_offset > end
        return (
            CopyErrorAction.TRUNCATE_TO_CURRENT_END
            if is_ahead
            else CopyErrorAction.RESTART_AT_CURRENT_START
        )
    passes = code in _PASSING or (code is ErrorCode.FENCED_LEADER_EPOCH and is_newer)
    return CopyErrorAction.RETRY if passes else CopyErrorAction.FAIL


@of_method(CleaningPauses, "pause")
def pause(pauses: CleaningPauses, tp: TopicPartition) -> Generator[None, int, Broken]:
    """Who pauses cleaning counts once, and it stands still."""
    before = pauses.count(tp)
    count = yield
    if not count == pauses.count(tp) == before + 1 or not pauses.is_paused(tp):
        return f"{before} pauses of {tp} become {pauses.count(tp)}, told are {count}"
    return None


@of_method(CleaningPauses, "resume")
def resume(pauses: CleaningPauses, tp: TopicPartition) -> Generator[None, int, Broken]:
    """Cleaning goes on when the last pause is taken back, and no earlier."""
    before = pauses.count(tp)
    count = yield
    if not count == pauses.count(tp) == before - 1 or pauses.is_paused(tp) is not (before > 1):
        return f"{before} pauses of {tp} become {pauses.count(tp)}, told are {count}"
    return None


@of_function(rules.mover_index)
def mover_index(tp: TopicPartition, mover_count: int) -> Generator[None, int, Broken]:
    """The mover of a partition is known by its name: Java's hash of it."""
    index = yield
    code = sum(ord(each) * 31**place for place, each in enumerate(reversed(tp.topic)))
    code = (31 * code + tp.partition) % 2**32
    if code >= 2**31:
        code -= 2**32
    wanted = 0 if code == -(2**31) else abs(code) % mover_count
    return None if index == wanted else f"{tp} is copied by {index} of {mover_count}, not {wanted}"


@of_method(MovingLog, "truncate")
def truncate(moving: MovingLog) -> Generator[None, None, Broken]:
    """What is copied on is the begin of its log: no longer, and of the same last leader epoch."""
    yield
    log, partition = moving._future.log, moving._replica.partition  # noqa: SLF001 -- as above
    if moving.move.state is not MoveState.COPYING or log is None:
        return None
    copied, end = log.positions, log.positions.log_end_offset
    is_within = partition.log_start_offset < end <= partition.log_end_offset
    if end > partition.next_offset:
        return f"{moving.tp} goes on at {partition.next_offset}, its copy at {end}"
    if not is_within or end <= copied.log_start_offset:
        return None
    # What its last epoch began with may be compacted away in the log: that began it later then.
    epoch = copied.epochs.epoch_at(end - 1)
    known = partition.epochs.end_offset_for(epoch, partition.log_end_offset)
    if known.epoch == epoch and (end <= known.end_offset or epoch == NO_EPOCH):
        return None
    return f"{moving.tp} before {end}: epoch {epoch}, its log {known}"


@of_method(Moves, "_on_created")
def on_created(
    moves: Moves,
    replica: Replica,
    future: FutureReplica,
    topic_id: bytes,
    begun: object,
    created: asyncio.Future[PartitionLog],
) -> Generator[None, None, Broken]:
    """A wish is fulfilled by the log that it asked for, and another one is kept."""
    states, path = moves.state.log_dir_states, future.dir.path
    wished = states.preferred(replica.tp)
    yield
    if created.exception() is not None:
        return None
    wanted = None if wished == path else wished
    is_kept = replica.future is not future or future.log is not None
    if states.preferred(replica.tp) != wanted or not is_kept:
        return (
            f"{replica.tp} moves to {path}, wished was {wished}, is {states.preferred(replica.tp)}"
        )
    return None


@of_method(Moves, "remove_nobodys")
def remove_nobodys(moves: Moves) -> Generator[None, None, Broken]:
    """Of what is no replica here no future log is left, but on a log dir that has failed."""
    yield
    state = moves.state
    left = [
        str(tp)
        for tp, log in state.orphan_future_logs.items()
        if log.dir.is_online and not state.metadata.is_replica(tp, state.broker_id)
    ]
    return f"{left} are no replicas here, and have future logs" if left else None
