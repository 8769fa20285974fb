"""What a failed log dir takes along, and who is told. It fails nothing itself.

Everything happens in one go, before any other event of the loop: after it no request finds a
replica of the log dir online, and all that waited for one are answered.
Source: ReplicaManager.scala handleLogDirFailure, KIP-112.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from broker.core.log_dirs import LogDirFailed
from broker.engine.follow.follower import Following
from broker.engine.move.moves import Moves
from broker.engine.replica import Replica
from broker.engine.state import EngineState
from broker.engine.types import FailedLogDir
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition, failure_id, listed
from protocol.metrics.rows import FailoverEventRow, FailoverStep

logger = logging.getLogger(__name__)


class Failures:
    """Takes replicas offline."""

    def __init__(self, state: EngineState, following: Following, moves: Moves) -> None:
        self.state = state
        self._following = following
        self._moves = moves

    def on_log_dir_failed(self, failure: LogDirFailed) -> None:
        """Take everything on a log dir offline; the second call for a log dir does nothing."""
        state = self.state
        has_unnamed = bool(state.hosted.affected_by(failure.log_dir).idle)
        if not state.log_dir_states.fail(failure.log_dir, has_unnamed=has_unnamed):
            return
        at_ms = state.wall_ms()
        state.usage.pop(failure.log_dir, None)
        state.cleaner_offsets.log_dir_failed(failure.log_dir)
        state.rebuilds.end(failure.log_dir)
        self._drop_orphans(failure.log_dir)
        failed, ended = state.hosted.on_log_dir_failed(failure.log_dir)
        for replica in ended:
            self._end(replica)
        for tp in failed.future:
            replica = state.hosted.online_replica(tp)
            if replica is not None:
                self._moves.drop(replica)
        told = FailedLogDir(
            path=failure.log_dir,
            directory_id=state.log_dirs[failure.log_dir].directory_id,
            operation=failure.operation,
            cause=str(failure.cause) or type(failure.cause).__name__,
            offline_replica_count=len(failed.current),
        )
        self._log(told, failed.current)
        self._emit(told, failed.current, at_ms)
        if state.log_dir_states.all_offline:
            state.ports.events.last_log_dir_failed(told)
        else:
            state.ports.events.log_dir_failed(told)

    def take_offline(self, tp: TopicPartition, topic_id: bytes) -> None:
        """Make one partition Offline whose log could not be found or made."""
        replica = self.state.hosted.put_offline(tp, topic_id, None)
        if replica is not None:
            self._end(replica)

    def tell_missing(self, tps: Sequence[TopicPartition]) -> None:
        """Log which partitions are Offline because their logs may lie where nobody can look."""
        if tps:
            offline = ", ".join(self.state.log_dir_states.offline_paths)
            logger.warning(
                "%d replicas not found while %s is offline: %s", len(tps), offline, listed(tps)
            )

    def _end(self, replica: Replica) -> None:
        self._following.lose(replica)
        orphan = self._moves.drop(replica)
        if orphan is not None:
            self.state.orphan_future_logs[replica.tp] = orphan
        replica.end(ErrorCode.KAFKA_STORAGE_ERROR)
        self.state.tell_of_role(replica)

    def _drop_orphans(self, path: str) -> None:
        orphans = self.state.orphan_future_logs
        for tp in [tp for tp, future in orphans.items() if future.dir.path == path]:
            del orphans[tp]

    def _log(self, told: FailedLogDir, offline: tuple[TopicPartition, ...]) -> None:
        logger.error(
            "log dir %s: online -> offline: %s: %s; %d replicas offline: %s",
            told.path,
            told.operation,
            told.cause,
            len(offline),
            listed(offline),
        )

    def _emit(self, told: FailedLogDir, offline: tuple[TopicPartition, ...], at_ms: int) -> None:
        state = self.state
        state.ports.emit(
            FailoverEventRow(
                at_ms=at_ms,
                node=f"broker-{state.broker_id}",
                failure_id=failure_id(
                    state.broker_id, told.directory_id, state.ports.broker_epoch()
                ),
                step=FailoverStep.LOG_DIR_FAILED,
                topic_count=len({tp.topic: None for tp in offline}),
                partition_count=len(offline),
                detail=f"{told.path}: {told.operation}: {told.cause}",
            )
        )
