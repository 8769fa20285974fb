"""Carries out LeaderAndIsr and UpdateMetadata.

The decisions are in `broker.core.control_rules`. Logs that exist take their roles before a new log
is waited for, and each log dir is waited for by itself: a disk that hangs delays only what lives on
it.
Source: ReplicaManager.scala becomeLeaderOrFollower.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from broker.core.control_rules import (
    LeaderAndIsrDecision,
    ReplicaAction,
    check_control_epochs,
    decide_leader_and_isr,
    leader_and_isr_answer,
    refuse_leader_and_isr,
    topics_made_anew,
)
from broker.core.hosted import Role
from broker.core.log_dirs import LogDirFailed
from broker.engine.control.failures import Failures
from broker.engine.control.stopping import Stopping
from broker.engine.follow.follower import Following
from broker.engine.log.logs import Logs
from broker.engine.move.moves import Moves
from broker.engine.replica import Replica
from broker.engine.state import EngineState
from broker.storage.log_dir import LogDir
from broker.storage.partition_log import PartitionLog
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import ZERO_UUID, TopicPartition
from protocol.messages.control import (
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)

logger = logging.getLogger(__name__)


class _Creation(NamedTuple):
    decision: LeaderAndIsrDecision
    log_dir: LogDir
    created: asyncio.Future[PartitionLog]


class Leadership:
    """Gives replicas their roles."""

    def __init__(
        self,
        state: EngineState,
        logs: Logs,
        following: Following,
        moves: Moves,
        failures: Failures,
        stopping: Stopping,
    ) -> None:
        self.state = state
        self._logs = logs
        self._following = following
        self._moves = moves
        self._failures = failures
        self._stopping = stopping

    def update_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        """Take over the cluster's metadata; at once, whatever the disks do."""
        code = self._check(request)
        if code is ErrorCode.NONE:
            self.state.controller_epoch = request.controller_epoch
            change = self.state.metadata.update(request)
            if change.deleted:
                self.state.ports.events.partitions_deleted(change.deleted)
            self._moves.remove_nobodys()
            self._stopping.remove_nobodys()
            if change.brokers_changed:
                self._look_at_high_watermarks()
        return UpdateMetadataResponse(error_code=code)

    def _look_at_high_watermarks(self) -> None:
        """Raise what waited for a replica of a broker that is gone."""
        state = self.state
        now_ms = state.now_ms()
        for _, replica in state.hosted.iterate_online():
            if replica.partition.brokers_changed(
                now_ms=now_ms, lag_time_max_ms=state.lag_time_max_ms
            ):
                replica.on_high_watermark()
            replica.on_log_start()

    async def leader_and_isr(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        """Give each partition its role; one request at a time, each to its end."""
        return await self.state.shielded(partial(self._leader_and_isr, request))

    async def _leader_and_isr(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        state = self.state
        async with state.control_turn:
            code = self._check(request)
            if code is not ErrorCode.NONE:
                return refuse_leader_and_isr(request, code)
            state.controller_epoch = request.controller_epoch
            for leader in request.live_leaders:
                state.leader_addresses[leader.broker_id] = (leader.host_name, leader.port)
            self._tell_new_topics(request)
            lost = topics_made_anew(request, broker_id=state.broker_id, view=state.hosted.view)
            await self._stopping.keep_as_strays(lost)
            decisions = decide_leader_and_isr(
                request,
                broker_id=state.broker_id,
                view=state.hosted.view,
                log_dirs=state.log_dir_states,
            )
            failed = await self._carry_out(decisions)
            return leader_and_isr_answer(decisions, failed)

    def _tell_new_topics(self, request: LeaderAndIsrRequest) -> None:
        seen = self.state.seen_topics
        names = [t.topic_name for t in request.topic_states if t.topic_name not in seen]
        if names:
            seen.update(dict.fromkeys(names))
            self.state.ports.events.topics_seen(names)

    def _check(self, request: LeaderAndIsrRequest | UpdateMetadataRequest) -> ErrorCode:
        return check_control_epochs(
            broker_epoch=request.broker_epoch,
            own_broker_epoch=self.state.ports.broker_epoch(),
            controller_epoch=request.controller_epoch,
            seen_controller_epoch=self.state.controller_epoch,
        )

    async def _carry_out(
        self, decisions: Sequence[LeaderAndIsrDecision]
    ) -> dict[TopicPartition, ErrorCode]:
        """Act on the decisions; return the errors met on the way."""
        new: list[LeaderAndIsrDecision] = []
        missing: list[TopicPartition] = []
        for decision in sorted(decisions, key=_leaders_first):
            if decision.action is ReplicaAction.HOST_OFFLINE:
                self._failures.take_offline(decision.tp, decision.topic_id)
                missing.append(decision.tp)
            elif decision.action is ReplicaAction.ASSIGN_TOPIC_ID:
                self._assign_topic_id(decision)
            elif decision.action in (ReplicaAction.LEAD, ReplicaAction.FOLLOW):
                if decision.create_log:
                    new.append(decision)
                else:
                    self.take_role(self._existing(decision), decision)
        self._failures.tell_missing(missing)
        while new:
            new = await self._create(self._begin(new))
        self._following.prune()
        return {
            decision.tp: ErrorCode.KAFKA_STORAGE_ERROR
            for decision in decisions
            if decision.error is ErrorCode.NONE and self.state.hosted.is_offline(decision.tp)
        }

    def _assign_topic_id(self, decision: LeaderAndIsrDecision) -> None:
        replica = self.state.hosted.online_replica(decision.tp)
        assert replica is not None, f"{decision.tp} is not online"
        self._give_topic_id(replica, decision.topic_id)
        self._following.follow(replica)  # A leader follows nobody.

    def _give_topic_id(self, replica: Replica, topic_id: bytes) -> None:
        """Give a replica the id of its topic; it is fetched no more without it."""
        self._following.unfollow(replica)
        self._logs.assign_topic_id(replica, topic_id)

    def _existing(self, decision: LeaderAndIsrDecision) -> Replica:
        replica = self.state.hosted.online_replica(decision.tp)
        if replica is not None:
            if replica.topic_id == ZERO_UUID != decision.topic_id:
                self._give_topic_id(replica, decision.topic_id)
            return replica
        idle = self.state.hosted.idle_replica(decision.tp)
        assert idle is not None, f"{decision.tp} has no log"
        return self._logs.host_idle(idle, decision.topic_id)

    # New logs.

    def _begin(self, decisions: Iterable[LeaderAndIsrDecision]) -> list[_Creation]:
        """Have logs created; all that go to one log dir share its hops."""
        begun: list[_Creation] = []
        for decision in decisions:
            try:
                begun.append(self._begin_one(decision))
            except KafkaError as error:
                logger.error("%s: %s", decision.tp, error)  # noqa: TRY400 -- it says all
                self._failures.take_offline(decision.tp, decision.topic_id)
        return begun

    def _begin_one(self, decision: LeaderAndIsrDecision) -> _Creation:
        log_dir = self.state.log_dirs[self.state.log_dir_states.place(decision.tp)]
        self._moves.before_new_log(decision.tp, log_dir)
        created = self._logs.create(decision.tp, decision.topic_id, log_dir)
        return _Creation(decision, log_dir, created)

    async def _create(self, creations: Sequence[_Creation]) -> list[LeaderAndIsrDecision]:
        """Wait for new logs and give them their roles; return those to be placed elsewhere.

        Their log dir failed meanwhile; the next candidate is tried (KAFKA-8526).
        """
        by_dir: dict[str, list[_Creation]] = {}
        for creation in creations:
            by_dir.setdefault(creation.log_dir.path, []).append(creation)
        again: list[LeaderAndIsrDecision] = []
        async with asyncio.TaskGroup() as group:
            for part in by_dir.values():
                group.create_task(self._host(part, again))
        return again

    async def _host(
        self, creations: Sequence[_Creation], again: list[LeaderAndIsrDecision]
    ) -> None:
        for decision, log_dir, created in creations:
            try:
                log = await created
            except LogDirFailed:
                again.append(decision)
                continue
            if not log_dir.is_online:
                again.append(decision)
                continue
            if self.state.log_dir_states.forget_preference(decision.tp):
                self.state.tell_if_nothing_moves()
            replica = self._logs.host_new(decision.tp, decision.topic_id, log, log_dir)
            self.take_role(replica, decision)

    # Roles.

    def take_role(self, replica: Replica, decision: LeaderAndIsrDecision) -> None:
        """Have a replica lead or follow in the leader epoch of a decision to do so."""
        replica.is_stopped = False
        after = Role.LEADER if decision.action is ReplicaAction.LEAD else Role.FOLLOWER
        self.state.ports.witness(replica.role, after)
        if decision.action is ReplicaAction.LEAD:
            self._lead(replica, decision)
        else:
            self._follow(replica, decision)
        self._moves.on_leader_epoch(replica)
        self.state.tell_of_role(replica)

    def _lead(self, replica: Replica, decision: LeaderAndIsrDecision) -> None:
        partition = replica.partition
        self._following.unfollow(replica)
        self.state.rebuilds.done(replica.tp)
        led = partition.become_leader(decision.state, now_ms=self.state.now_ms())
        replica.log.write_epochs(led)
        replica.on_high_watermark()
        replica.on_log_start()
        replica.followers.wake()

    def _follow(self, replica: Replica, decision: LeaderAndIsrDecision) -> None:
        replica.partition.become_follower(decision.state)
        replica.tail.clear()
        replica.answer_waiters(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self._following.follow(replica)


def _leaders_first(decision: LeaderAndIsrDecision) -> bool:
    return decision.action is not ReplicaAction.LEAD
