"""Moves between log dirs: begin, change, cancel, resume, and what ends them.

The steps of one move are in `moving`, the decisions in `broker.core.future_log`.
Source: ReplicaManager.scala alterReplicaLogDirs, maybeAddLogDirFetchers; KIP-113.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Final

from broker.core.future_log import (
    Move,
    MoveDecision,
    MoveEvent,
    MoveState,
    decide_move,
    mover_index,
)
from broker.core.hosted import is_another_topic
from broker.core.log_dirs import LogDirFailed
from broker.core.log_positions import LogPositions
from broker.engine.future import FutureReplica
from broker.engine.hosted_log import HostedLog
from broker.engine.log.deletions import Deletions
from broker.engine.log.logs import Logs
from broker.engine.move.move_turns import MoveTurns
from broker.engine.move.mover import Mover
from broker.engine.move.moving import MoveTools, MovingLog
from broker.engine.replica import Replica
from broker.engine.state import EngineState
from broker.engine.supervise import supervised
from broker.storage.log_dir import LogDir
from broker.storage.partition_log import PartitionLog
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.metrics import rows as metric_rows

logger = logging.getLogger(__name__)

REPORT_MS: Final = 500
"""Time between two progress rows of one move."""
_ORDERS_AT_ONCE: Final = 4
"""Of one request, before what came in meanwhile has its turn: requests may name thousands."""
_ROW_STATES: Final = {
    MoveState.TRUNCATING: metric_rows.MoveState.COPYING,
    MoveState.COPYING: metric_rows.MoveState.COPYING,
    MoveState.SWAPPING: metric_rows.MoveState.SWAPPING,
    MoveState.SWAPPED: metric_rows.MoveState.DONE,
    MoveState.CANCELLED: metric_rows.MoveState.CANCELLED,
    MoveState.FAILED: metric_rows.MoveState.FAILED,
}


class Moves:
    """The moves of this broker."""

    def __init__(self, state: EngineState, logs: Logs, deletions: Deletions) -> None:
        config = state.config
        self.state = state
        self._deletions = deletions
        count = config.num_replica_alter_log_dirs_threads or len(state.log_dirs)
        self._movers = [
            Mover(
                state.quotas.moves, backoff_ms=config.replica_fetch_backoff_ms, now_ms=state.now_ms
            )
            for _ in range(count)
        ]
        turns = MoveTurns(lambda: sum(one.queue.appends_count for one in state.log_dirs.values()))
        self.tools = MoveTools(logs, deletions, state.quotas.moves, self._report, turns)
        """What each move works with."""
        self._tasks: list[asyncio.Task[None]] = []
        self._reported: dict[TopicPartition, tuple[int, MoveState]] = {}

    def run(self, task_group: asyncio.TaskGroup) -> None:
        """Run the movers; those without work cost nothing."""
        self._tasks = [
            task_group.create_task(supervised(f"mover-{number}", mover.run))
            for number, mover in enumerate(self._movers)
        ]

    def stop(self) -> None:
        """End the movers; a swap that is cut is finished by the next start."""
        for task in self._tasks:
            task.cancel()

    @property
    def active_count(self) -> int:
        """Moves that a mover works on or has in its line."""
        return sum(map(len, self._movers))

    # AlterReplicaLogDirs.

    async def alter(
        self, parts: Sequence[tuple[TopicPartition, str]]
    ) -> dict[TopicPartition, ErrorCode]:
        """Begin, change or cancel moves; of a partition named twice the last path counts.

        An order whose replicas are all where they should be ends moves as the last swap does.
        """
        was_moving = self.state.is_moving
        answers: dict[TopicPartition, ErrorCode] = {}
        orders = iter(dict(parts).items())
        while some := list(islice(orders, _ORDERS_AT_ONCE)):
            await asyncio.sleep(0)
            async with self.tools.turns.resting():
                answers |= await self._alter(some)
        for tp, path in dict(parts).items():
            if answers[tp] is ErrorCode.KAFKA_STORAGE_ERROR:
                logger.warning("%s does not move to %s: KAFKA_STORAGE_ERROR", tp, path)
        if not was_moving and all(code is ErrorCode.NONE for code in answers.values()):
            self.state.tell_if_nothing_moves()
        return answers

    async def _alter(
        self, orders: Iterable[tuple[TopicPartition, str]]
    ) -> dict[TopicPartition, ErrorCode]:
        """Obey; ends when the future logs are there."""
        answers: dict[TopicPartition, ErrorCode] = {}
        creating: dict[TopicPartition, asyncio.Future[bool]] = {}
        for tp, path in orders:
            replica = await self.state.until_swapped(tp)
            decision = decide_move(
                tp,
                path,
                replica=self.state.hosted.view(tp),
                is_known=self.state.metadata.has_partition(tp),
                log_dirs=self.state.log_dir_states,
            )
            answers[tp] = decision.error
            created = self._carry_out(tp, path, replica, decision)
            if created is not None:
                creating[tp] = created
        for tp, created in creating.items():
            if not await created:
                answers[tp] = ErrorCode.KAFKA_STORAGE_ERROR
        return answers

    def _carry_out(
        self, tp: TopicPartition, path: str, replica: Replica | None, decision: MoveDecision
    ) -> asyncio.Future[bool] | None:
        if decision.abandon_future and replica is not None:
            self.abandon(replica)
        if decision.remember:
            self.state.log_dir_states.prefer(tp, path)
        if not decision.start or replica is None:
            return None
        return self._begin(replica, self.state.log_dirs[path])

    def _begin(self, replica: Replica, target: LogDir) -> asyncio.Future[bool]:
        """Create the future log; the future tells whether it could be."""
        begun: asyncio.Future[bool] = self.state.loop.create_future()
        start = replica.partition.log_start_offset
        future = self._attach(replica, target, None, fallback_offset=start)
        self.state.log_dir_states.count_log(target.path)
        topic_id = replica.topic_id
        try:
            created = self.tools.logs.create_future(replica, target)
        except LogDirFailed:
            self.drop(replica)
            begun.set_result(False)
            return begun
        created.add_done_callback(partial(self._on_created, replica, future, topic_id, begun))
        return begun

    def _on_created(
        self,
        replica: Replica,
        future: FutureReplica,
        topic_id: bytes,
        begun: asyncio.Future[bool],
        created: asyncio.Future[PartitionLog],
    ) -> None:
        is_created = created.exception() is None
        if not begun.done():
            begun.set_result(is_created)
        if not is_created:
            return  # Its log dir failed, and that ended the move.
        log = self.tools.logs.future(created.result(), future.dir, topic_id)
        if self.state.log_dir_states.preferred(replica.tp) == future.dir.path:
            self.state.log_dir_states.forget_preference(replica.tp)
        if replica.future is not future:
            self._remove(replica, log)  # Abandoned while it was being created.
            return
        future.log = log
        self._enlist(replica, log, future)

    def _attach(
        self,
        replica: Replica,
        target: LogDir,
        log: HostedLog[LogPositions] | None,
        *,
        fallback_offset: int,
    ) -> FutureReplica:
        move = Move(
            replica.tp,
            source_dir=replica.log_dir,
            target_dir=target.path,
            leader_epoch=replica.leader_epoch,
            fallback_offset=fallback_offset,
        )
        move.witness = self.state.ports.witness
        future = FutureReplica(move, target, log, started_at_ms=self.state.wall_ms())
        replica.future = future
        self.state.cleaning_pauses.pause(replica.tp)
        return future

    def _enlist(
        self, replica: Replica, log: HostedLog[LogPositions], future: FutureReplica
    ) -> None:
        # It may have changed since the log was loaded, or while it was being made.
        log.files.config = replica.log.files.config
        logger.info("%s moves: %s -> %s", replica.tp, replica.log_dir, future.dir.path)
        self._report(replica, future)
        self._mover(replica.tp).add(MovingLog(self.state, self.tools, replica, future))

    def _mover(self, tp: TopicPartition) -> Mover:
        return self._movers[mover_index(tp, len(self._movers))]

    # What happens to a move.

    def on_leader_epoch(self, replica: Replica) -> None:
        """A LeaderAndIsr was accepted: resume a move found on disk, refresh one under way."""
        orphan = self.state.orphan_future_logs.pop(replica.tp, None)
        if orphan is not None:
            self._resume(replica, orphan)
            return
        future = replica.future
        if future is None or future.log is None or future.is_promoting:
            return
        future.move.on_leader_epoch(
            replica.leader_epoch, fallback_offset=future.log.positions.high_watermark
        )
        if future.move.is_active:
            self._enlist_again(replica, future)

    def before_new_log(self, tp: TopicPartition, log_dir: LogDir) -> None:
        """Set the future log of a replica aside that is made anew where that lies (KAFKA-16082).

        What the checkpoints of a log dir say of it by name they would say of the new log then: they
        forget it first, as it is on its way out (seed 1069601).
        """
        orphan = self.state.orphan_future_logs.get(tp)
        if orphan is not None and orphan.dir is log_dir:
            self._set_orphan_aside(tp)

    def remove_nobodys(self) -> None:
        """Remove future logs that were found on disk and whose partition has no replica here.

        Call it after an UpdateMetadata. Their log dir was offline while the replica was deleted: no
        LeaderAndIsr and no StopReplica will ever name them.
        """
        state = self.state
        orphans = state.orphan_future_logs
        for tp in [tp for tp in orphans if not state.metadata.is_replica(tp, state.broker_id)]:
            with suppress(LogDirFailed):
                self._set_orphan_aside(tp)
                logger.warning("future log of %s removed: no replica of it is here", tp)

    def _set_orphan_aside(self, tp: TopicPartition) -> None:
        delay_ms = self.state.ports.topic_config(tp.topic).file_delete_delay_ms
        self._deletions.set_aside(tp, self.state.orphan_future_logs[tp], delay_ms)
        del self.state.orphan_future_logs[tp]

    def _enlist_again(self, replica: Replica, future: FutureReplica) -> None:
        mover = self._mover(replica.tp)
        if not mover.has(replica.tp):
            mover.add(MovingLog(self.state, self.tools, replica, future))

    def _resume(self, replica: Replica, orphan: HostedLog[LogPositions]) -> None:
        if not orphan.dir.is_online:
            return
        is_left_over = is_another_topic(orphan.topic_id, replica.topic_id)
        if is_left_over or orphan.dir is replica.log.dir:
            # Its topic was deleted while it was away, or the current log was made anew in its own
            # dir (KAFKA-16082).
            self._remove(replica, orphan)
            return
        fallback_offset = orphan.positions.high_watermark
        future = self._attach(replica, orphan.dir, orphan, fallback_offset=fallback_offset)
        self._enlist(replica, orphan, future)

    def on_truncated(self, replica: Replica, offset: int) -> None:
        """The current log was cut: the future log may be ahead of it."""
        future = replica.future
        if future is not None and not future.is_promoting:
            future.move.on_current_truncated(offset)

    def suspend(self, replica: Replica) -> None:
        """Copy no more until the next LeaderAndIsr; the future log stays."""
        self._mover(replica.tp).remove(replica.tp)

    def abandon(self, replica: Replica) -> None:
        """End a move and set its future log aside."""
        future = self._end(replica)
        if future is not None and future.log is not None:
            self._remove(replica, future.log)

    def drop(self, replica: Replica) -> HostedLog[LogPositions] | None:
        """End the move of a failed log dir, touching no disk; return the future log that stays.

        One that is being promoted is no future log any more: see `MovingLog.swap`.
        """
        future = replica.future
        if future is not None and future.move.is_active and not _may_be_promoted(future):
            self.state.ports.counters.moves_failed.add()
        self._end(replica)
        if future is None or future.log is None or not future.dir.is_online or future.is_promoting:
            return None
        return future.log

    def _end(self, replica: Replica) -> FutureReplica | None:
        future, replica.future = replica.future, None
        if future is None:
            return None
        replica.on_log_start()  # A deletion that waited for the copy waits no more.
        self._mover(replica.tp).remove(replica.tp)
        if not future.move.is_over and future.move.on(MoveEvent.CANCEL):
            self.state.move_ended(replica.tp)
        self._report(replica, future)
        return future

    def _remove(self, replica: Replica, log: HostedLog[LogPositions]) -> None:
        try:
            self._deletions.set_aside(replica.tp, log, replica.delete_delay_ms)
        except LogDirFailed:
            return  # It stays on the failed log dir.

    # Progress.

    def _report(self, replica: Replica, future: FutureReplica) -> None:
        """Write a progress row when the state changed or the last one is old enough."""
        move, now_ms = future.move, self.state.now_ms()
        last_ms, last_state = self._reported.get(replica.tp, (0, None))
        if move.state is last_state and now_ms - last_ms < REPORT_MS:
            return
        if move.is_over:
            self._reported.pop(replica.tp, None)
        else:
            self._reported[replica.tp] = (now_ms, move.state)
        quota = self.state.quotas.moves
        self.state.ports.emit(
            metric_rows.MoveProgressRow(
                at_ms=self.state.wall_ms(),
                broker_id=self.state.broker_id,
                topic=replica.tp.topic,
                partition=replica.tp.partition,
                source_log_dir=move.source_dir,
                target_log_dir=move.target_dir,
                started_at_ms=future.started_at_ms,
                copied_bytes=future.copied_bytes,
                total_bytes=replica.log.files.size_bytes,
                throttle_bytes_per_s=quota.limit_bytes_per_second if quota.is_limited else -1,
                state=_ROW_STATES[move.state],
            )
        )


def _may_be_promoted(future: FutureReplica) -> bool:
    """Tell whether the renames of a swap have begun, on a disk that may yet carry them out."""
    return future.is_promoting and future.dir.is_online
