"""What a broker's engine promises when roles change, log dirs fail, logs are cut and moves end.

Its methods that do not wait are rules, too: what they leave undone nobody does later.
Source: ReplicaManager.scala, ReplicaAlterLogDirsThread.scala, ReplicaFetcherThread.scala;
KIP-112, KIP-113.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

from broker.core.control_rules import LeaderAndIsrDecision, ReplicaAction
from broker.core.future_log import MoveState
from broker.core.leader_epochs import EpochEnd
from broker.core.log_dirs import LogDirFailed
from broker.core.log_positions import LogPositions
from broker.engine.control.failures import Failures
from broker.engine.control.leadership import Leadership
from broker.engine.follow.followed import FetchedRecords
from broker.engine.follow.follower import FollowedLog
from broker.engine.hosted_log import HostedLog
from broker.engine.log.logs import Logs
from broker.engine.move.moves import Moves
from broker.engine.replica import Replica
from broker.engine.serve.offsets import Offsets
from broker.engine.types import EpochAnswer
from broker.storage.log_dir import LogDir
from broker.storage.partition_log import PartitionLog
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.control import (
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from simulation.contracts.contract import Broken, of_method


@of_method(Failures, "on_log_dir_failed")
def on_log_dir_failed(failures: Failures, failure: LogDirFailed) -> Generator[None, None, Broken]:
    """A failed log dir serves nothing more: its replicas end, and so do moves to it."""
    state = failures.state
    if not state.log_dir_states.is_online(failure.log_dir):
        return None
    online = dict(state.hosted.iterate_online())
    taken = [one for one in online.values() if one.log_dir == failure.log_dir]
    moved = [one for one in online.values() if one.future_log_dir == failure.log_dir]
    yield
    serving = [one.tp for one in taken if not one.is_ended or not state.hosted.is_offline(one.tp)]
    if serving or state.log_dir_states.is_online(failure.log_dir):
        return f"{serving} are served from {failure.log_dir}"
    moving = [one.tp for one in moved if one.future is not None]
    moving += [
        tp for tp, one in state.orphan_future_logs.items() if one.dir.path == failure.log_dir
    ]
    return f"{moving} move to {failure.log_dir}, which is offline" if moving else None


@of_method(Failures, "take_offline")
def take_offline(
    failures: Failures, tp: TopicPartition, topic_id: bytes
) -> Generator[None, None, Broken]:
    """A replica without a log is offline, and what was online of it ends."""
    before = failures.state.hosted.online_replica(tp)
    yield
    is_offline = failures.state.hosted.is_offline(tp)
    if not is_offline or (before is not None and not before.is_ended):
        return f"{tp} of {topic_id.hex()} is offline: {is_offline}, was {before}"
    return None


@of_method(Leadership, "update_metadata")
def update_metadata(
    leadership: Leadership, request: UpdateMetadataRequest
) -> Generator[None, UpdateMetadataResponse, Broken]:
    """Metadata of an older controller changes nothing, any other is known when it is answered."""
    state = leadership.state
    seen, generation = state.controller_epoch, state.metadata.generation
    response = yield
    is_taken = response.error_code == ErrorCode.NONE
    if is_taken is not (state.metadata.generation > generation):
        return f"answered {response.error_code}, metadata {generation}: {state.metadata.generation}"
    if state.controller_epoch != (request.controller_epoch if is_taken else seen):
        return f"controller epoch {seen} becomes {state.controller_epoch}, told {request}"
    if is_taken and request.controller_epoch < seen:
        return f"{request.controller_epoch} is taken after {seen}"
    return None


@of_method(Leadership, "leader_and_isr")
def leader_and_isr(
    leadership: Leadership, request: LeaderAndIsrRequest
) -> Generator[None, LeaderAndIsrResponse, Broken]:
    """Who takes roles knows from then on which controller gave them, and where leaders are."""
    response = yield
    state = leadership.state
    if response.error_code != ErrorCode.NONE:
        return None
    if state.controller_epoch < request.controller_epoch:
        return f"told by {request.controller_epoch}, known is {state.controller_epoch}"
    unknown = [
        each.broker_id
        for each in request.live_leaders
        if each.broker_id not in state.leader_addresses
    ]
    return f"nobody knows where {unknown} are" if unknown else None


@of_method(Leadership, "_leader_and_isr")
def answer_of_roles(
    leadership: Leadership, request: LeaderAndIsrRequest
) -> Generator[None, LeaderAndIsrResponse, Broken]:
    """No replica is said to have its role that is offline by then."""
    response = yield
    names = {bytes(each.topic_id): each.topic_name for each in request.topic_states}
    hosted = leadership.state.hosted
    offline = [
        tp
        for topic in response.topics
        for each in topic.partition_errors
        if each.error_code == ErrorCode.NONE
        if (tp := TopicPartition(names[bytes(topic.topic_id)], each.partition_index))
        if hosted.is_offline(tp)
    ]
    return f"{offline} are offline, answered as well" if offline else None


@of_method(Leadership, "take_role")
def take_role(
    leadership: Leadership, replica: Replica, decision: LeaderAndIsrDecision
) -> Generator[None, None, Broken]:
    """A replica leads or follows in the leader epoch that it is told, and its move knows it."""
    yield
    partition, state = replica.partition, decision.state
    leads = decision.action is ReplicaAction.LEAD
    if partition.is_leader is not leads or partition.leader_epoch != state.leader_epoch:
        return f"{replica.tp} leads {partition.is_leader} in {partition.leader_epoch}: {state}"
    if replica.is_stopped:
        return f"{replica.tp} is told its role, and counts as stopped"
    if leads and leadership.state.rebuilds.quota_of(replica.tp) is not None:
        return f"{replica.tp} leads, and is copied at a limit still"
    if not leads and (len(replica.written) or len(replica.replicated) or len(replica.deleted)):
        return f"{replica.tp} follows, and producers wait for it to lead"
    future = replica.future
    is_moving = future is not None and future.log is not None and not future.is_promoting
    if future is not None and is_moving and future.move.leader_epoch != state.leader_epoch:
        return f"{replica.tp} moves in leader epoch {future.move.leader_epoch}, told {state}"
    return None


@of_method(Logs, "host_new")
def host_new(
    _: Logs, tp: TopicPartition, topic_id: bytes, files: PartitionLog, log_dir: LogDir
) -> Generator[None, Replica, Broken]:
    """A log is hosted where it was made, on a log dir that has not failed since."""
    was_online = log_dir.is_online
    replica = yield
    if not was_online or replica.log_dir != log_dir.path:
        return f"{tp} is hosted in {replica.log_dir}, made in {log_dir.path}, online: {was_online}"
    if replica.tp != tp or replica.topic_id != topic_id or replica.log.files is not files:
        return f"{replica.tp} of {replica.topic_id.hex()} is hosted for {tp} of {topic_id.hex()}"
    return None


@of_method(Logs, "truncate")
def truncate(
    _: Logs, replica: Replica, offset: int
) -> Generator[None, asyncio.Future[bool], Broken]:
    """A log that is cut ends there at once, for readers and for the log that it moves to, too."""
    yield
    if replica.partition.next_offset != offset:
        return f"{replica.tp} is cut to {offset} and goes on at {replica.partition.next_offset}"
    return _move_knows_the_cut(replica, offset)


@of_method(Logs, "restart_at")
def restart_at(
    _: Logs, replica: Replica, offset: int
) -> Generator[None, asyncio.Future[bool], Broken]:
    """A log that begins anew is empty at once, and what was moved of it is no copy any more."""
    yield
    partition = replica.partition
    if (partition.log_start_offset, partition.next_offset) != (offset, offset):
        return f"{replica.tp} begins anew at {partition.log_start_offset}, not {offset}"
    return _move_knows_the_cut(replica, offset)


def _move_knows_the_cut(replica: Replica, offset: int) -> Broken:
    future = replica.future
    if future is None or future.log is None or future.is_promoting or not future.move.is_active:
        return None
    move = future.move
    if move.fallback_offset > offset or move.state is not MoveState.TRUNCATING:
        return f"{replica.tp} is cut to {offset}, its move is {move.state}, {move.fallback_offset}"
    return None


@of_method(Moves, "on_leader_epoch")
def on_leader_epoch(moves: Moves, replica: Replica) -> Generator[None, None, Broken]:
    """A move goes on under the new leader epoch, and one found on disk begins."""
    yield
    if replica.tp in moves.state.orphan_future_logs:
        return f"the future log of {replica.tp} stays nobody's"
    future = replica.future
    if future is None or future.log is None or future.is_promoting:
        return None
    if future.move.leader_epoch != replica.leader_epoch:
        return f"{replica.tp} moves in {future.move.leader_epoch}, it is {replica.leader_epoch}"
    return None


@of_method(Moves, "drop")
def drop(_: Moves, replica: Replica) -> Generator[None, HostedLog[LogPositions] | None, Broken]:
    """A move that is dropped is over; its future log stays where its log dir works."""
    future = replica.future
    stays = future is not None and future.dir.is_online and not future.is_promoting
    log = future.log if future is not None and stays else None
    kept = yield
    if kept is not log or replica.future is not None:
        return f"the move of {replica.tp} is dropped, {replica.future} is left, {kept} stays"
    return None


@of_method(Moves, "abandon")
def abandon(_: Moves, replica: Replica) -> Generator[None, None, Broken]:
    """A move that is abandoned is over."""
    future = replica.future
    yield
    if replica.future is not None or (future is not None and future.move.is_active):
        return f"the move of {replica.tp} is abandoned, and goes on"
    return None


def _begin_of(followed: FollowedLog) -> tuple[int, ...]:
    """Return where a log goes on that begins anew when it is cut."""
    replica = followed.replica
    return () if replica.compaction is None else (replica.partition.log_start_offset,)


@of_method(FollowedLog, "reconcile")
def reconcile(
    followed: FollowedLog, answer: EpochEnd
) -> Generator[None, tuple[asyncio.Future[Any] | None, bool], Broken]:
    """What a follower has behind the end that its leader tells of their last epoch is cut.

    A compacted log may begin anew instead.
    """
    partition = followed.replica.partition
    latest, end = partition.epochs.latest, partition.next_offset
    _, finished = yield
    if not finished or answer.end_offset < 0:
        return None
    if answer.epoch == latest and partition.next_offset not in (
        min(end, answer.end_offset),
        *_begin_of(followed),
    ):
        return f"{followed.tp} went on at {end}, at {partition.next_offset} now: {answer}"
    if partition.next_offset > max(answer.end_offset, partition.log_start_offset):
        return f"{followed.tp} goes on at {partition.next_offset}: {answer}"
    return None


@of_method(FollowedLog, "return_to_range")
def return_to_range(
    followed: FollowedLog, leader_start: int, leader_end: int
) -> Generator[None, asyncio.Future[Any] | None, Broken]:
    """A log that its leader cannot serve goes on within the leader's range."""
    partition, end = followed.replica.partition, followed.replica.partition.next_offset
    is_busy = followed.replica.log.unwritable is not None
    yield
    wanted = end if is_busy else max(leader_start, min(end, leader_end))
    anew = _begin_of(followed) if leader_end < end else ()
    if leader_start <= leader_end and partition.next_offset not in (wanted, *anew):
        return f"{followed.tp} goes on at {partition.next_offset}, not {wanted}"
    return None


@of_method(FollowedLog, "note_high_watermark")
def note_high_watermark(
    followed: FollowedLog, fetched: FetchedRecords
) -> Generator[None, bool, Broken]:
    """A follower takes its leader's high watermark and log start, as far as its log goes."""
    partition = followed.replica.partition
    before, is_online = partition.log_start_offset, followed.replica.log.dir.is_online
    rose = yield
    wanted = max(before, min(fetched.log_start_offset, partition.log_end_offset))
    if is_online and partition.log_start_offset != wanted:
        return f"{followed.tp} begins at {partition.log_start_offset}, not {wanted}"
    if rose is not (partition.log_start_offset > before):
        return f"{followed.tp} begins at {partition.log_start_offset}, began at {before}: {rose}"
    return None


@of_method(Offsets, "offset_for_leader_epoch")
def offset_for_leader_epoch(
    offsets: Offsets,
    tp: TopicPartition,
    *,
    current_leader_epoch: int,
    leader_epoch: int,
    replica_id: int,
) -> Generator[None, EpochAnswer, Broken]:
    """A leader tells where an epoch ends: where the next one begins, the last one at its end."""
    replica = offsets.state.hosted.online_replica(tp)
    answer = yield
    if replica is None or not replica.partition.is_leader:
        is_told = answer.error_code is ErrorCode.NONE
        return f"{tp}, not led here, is told as {answer}" if is_told else None
    if answer.error_code is not ErrorCode.NONE:
        is_told = current_leader_epoch in {-1, replica.leader_epoch}
        return f"{replica_id} is told {answer}, {current_leader_epoch}" if is_told else None
    partition = replica.partition
    entries = [tuple(entry) for entry in partition.epochs.entries]
    known = [epoch for epoch, _ in entries if epoch <= leader_epoch]
    later = [start for epoch, start in entries if epoch > leader_epoch]
    wanted = (max(known, default=-1), min(later, default=partition.log_end_offset))
    if leader_epoch > max((epoch for epoch, _ in entries), default=-1) or not known:
        return None
    if (answer.leader_epoch, answer.end_offset) != wanted:
        return f"{tp} of epoch {leader_epoch}: {answer}, not {wanted}, of {entries}"
    return None
