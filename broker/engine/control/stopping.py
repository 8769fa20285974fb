"""Carries out StopReplica: stop fetching, and delete what is to be deleted.

The decisions are in `broker.core.control_rules`. Source: ReplicaManager.scala stopReplicas.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from broker.core.control_rules import (
    StopAction,
    StopReplicaDecision,
    check_control_epochs,
    decide_stop_replica,
)
from broker.core.log_dirs import LogDirFailed
from broker.core.log_positions import LogPositions
from broker.engine.follow.follower import Following
from broker.engine.hosted_log import HostedLog
from broker.engine.log.deletions import Deletions
from broker.engine.move.moves import Moves
from broker.engine.replica import Replica
from broker.engine.state import EngineState
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.control import (
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)

logger = logging.getLogger(__name__)
_Aside = Callable[[TopicPartition, HostedLog[LogPositions], Replica | None], asyncio.Future[None]]
"""Gives a log another name; the future ends when it has it."""


class Stopping:
    """Ends replicas."""

    def __init__(
        self, state: EngineState, following: Following, moves: Moves, deletions: Deletions
    ) -> None:
        self._state = state
        self._following = following
        self._moves = moves
        self._deletions = deletions

    async def stop_replica(self, request: StopReplicaRequest) -> StopReplicaResponse:
        """Stop or delete replicas; one request at a time, each to its end."""
        return await self._state.shielded(partial(self._stop_replica, request))

    async def _stop_replica(self, request: StopReplicaRequest) -> StopReplicaResponse:
        state = self._state
        async with state.control_turn:
            code = check_control_epochs(
                broker_epoch=request.broker_epoch,
                own_broker_epoch=state.ports.broker_epoch(),
                controller_epoch=request.controller_epoch,
                seen_controller_epoch=state.controller_epoch,
            )
            if code is not ErrorCode.NONE:
                return StopReplicaResponse(error_code=code)
            state.controller_epoch = request.controller_epoch
            decisions = decide_stop_replica(
                request,
                view=state.hosted.view,
                any_unread=state.log_dir_states.any_unread,
                is_elsewhere=partial(state.metadata.is_elsewhere, broker_id=state.broker_id),
            )
            failed = await self._carry_out(decisions, self._set_aside)
        rows = [
            StopReplicaPartitionError(
                topic_name=decision.tp.topic,
                partition_index=decision.tp.partition,
                error_code=failed.get(decision.tp, decision.error),
            )
            for decision in decisions
        ]
        return StopReplicaResponse(error_code=ErrorCode.NONE, partition_errors=rows)

    async def keep_as_strays(self, decisions: Sequence[StopReplicaDecision]) -> None:
        """Take replicas out whose topics were made anew, and keep their logs under other names.

        Call it in the control turn. What fails is Offline.
        """
        await self._carry_out(decisions, self._keep_as_stray)

    def remove_nobodys(self) -> None:
        """Take logs found on disk out whose partition is not here and that nobody will ever name.

        Call it after an UpdateMetadata. Those that never held anything were made just as their log
        dir failed; their replica went to another one and was deleted. Those that a cut swap left,
        in a log dir that was away while the log they replaced was deleted, stay as strays.
        """
        state = self._state
        left_over, state.left_over = state.left_over, {}
        for tp, idle in list(state.hosted.iterate_idle()):
            is_nobodys = tp in left_over or idle.positions.is_untouched
            if state.metadata.is_replica(tp, state.broker_id) or not is_nobodys:
                continue
            with suppress(LogDirFailed):
                if idle.positions.is_untouched:
                    self._set_aside(tp, idle, None)
                    logger.warning("empty log of %s removed: no replica of it is here", tp)
                else:
                    self._deletions.keep_as_stray(tp, idle, "no replica of it is here")
                state.hosted.remove(tp, any_unread=state.log_dir_states.any_unread)

    async def _carry_out(
        self, decisions: Sequence[StopReplicaDecision], aside: _Aside
    ) -> dict[TopicPartition, ErrorCode]:
        """Stop all fetching first, then delete (KAFKA-10371); return the errors met."""
        for decision in decisions:
            replica = self._state.hosted.online_replica(decision.tp)
            if replica is not None and decision.action in (StopAction.STOP, StopAction.DELETE):
                self._following.unfollow(replica)
                self._moves.suspend(replica)
                replica.is_stopped = True
                self._state.tell_of_role(replica)
        self._following.prune()
        renames: list[tuple[TopicPartition, asyncio.Future[None]]] = []
        failed: list[TopicPartition] = []
        topic_ids = {decision.tp: self._topic_id(decision.tp) for decision in decisions}
        for decision in decisions:
            try:
                if decision.action is StopAction.DELETE:
                    renames += await self._delete(decision.tp, aside)
                elif decision.action is StopAction.DELETE_FILES:
                    renames += self._delete_files(decision.tp, aside)
            except LogDirFailed:
                failed.append(decision.tp)
        for tp, renamed in renames:
            try:
                await renamed
            except LogDirFailed:
                failed.append(tp)
        asked = [
            d.tp for d in decisions if d.action in (StopAction.DELETE, StopAction.DELETE_FILES)
        ]
        failed += [tp for tp in asked if self._is_left(tp) and tp not in failed]
        for tp in failed:
            self._state.hosted.put_offline(tp, topic_ids[tp], None)
        return dict.fromkeys(failed, ErrorCode.KAFKA_STORAGE_ERROR)

    def _is_left(self, tp: TopicPartition) -> bool:
        """Tell whether a log of it lies on a log dir that failed.

        Before a move retired it there (seed 1064586), or while the order waited for the end of one
        (seed 1151593). Who is told that all is deleted would never ask again.
        """
        path = self._state.unretired.get(tp)
        is_out_of_reach = path is not None and not self._state.log_dirs[path].is_online
        return is_out_of_reach or self._state.hosted.is_offline(tp)

    def _topic_id(self, tp: TopicPartition) -> bytes:
        """Return a replica's topic id; one that cannot be deleted is Offline under it.

        Its files lie on the failed log dir, so that asking again has to fail again (KAFKA-7313).
        """
        return self._state.hosted.view(tp).topic_id

    async def _delete(
        self, tp: TopicPartition, aside: _Aside
    ) -> list[tuple[TopicPartition, asyncio.Future[None]]]:
        replica = await self._state.until_swapped(tp)
        if replica is None:
            return []
        self._moves.abandon(replica)
        self._state.hosted.remove(tp, any_unread=self._state.log_dir_states.any_unread)
        self._state.rebuilds.done(tp)
        replica.end(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return [(tp, aside(tp, replica.log, replica))]

    def _delete_files(
        self, tp: TopicPartition, aside: _Aside
    ) -> list[tuple[TopicPartition, asyncio.Future[None]]]:
        """Delete what lies on disk of a replica that is not hosted."""
        renames: list[tuple[TopicPartition, asyncio.Future[None]]] = []
        idle = self._state.hosted.idle_replica(tp)
        orphan = self._state.orphan_future_logs.pop(tp, None)
        self._state.hosted.remove(tp, any_unread=self._state.log_dir_states.any_unread)
        self._state.rebuilds.done(tp)
        if orphan is not None:
            renames.append((tp, aside(tp, orphan, None)))
        if idle is not None:
            renames.append((tp, aside(tp, idle, None)))
        return renames

    def _set_aside(
        self, tp: TopicPartition, log: HostedLog[LogPositions], replica: Replica | None
    ) -> asyncio.Future[None]:
        delay_ms = (
            self._state.ports.topic_config(tp.topic).file_delete_delay_ms
            if replica is None
            else replica.delete_delay_ms
        )
        return self._deletions.set_aside(tp, log, delay_ms)

    def _keep_as_stray(
        self, tp: TopicPartition, log: HostedLog[LogPositions], _replica: Replica | None
    ) -> asyncio.Future[None]:
        return self._deletions.keep_as_stray(tp, log, "its topic was made anew")
