"""What a broker promises of LeaderAndIsr and StopReplica, partition by partition.

Source: ReplicaManager.scala becomeLeaderOrFollower and stopReplicas, KIP-112, KAFKA-16157; what
differs from Kafka is in ``docs/differences.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import NamedTuple

from broker.core import control_rules as rules
from broker.core.control_rules import (
    LeaderAndIsrDecision,
    ReplicaAction,
    StopAction,
    StopReplicaDecision,
)
from broker.core.hosted import HostedState, Loss, ReplicaView
from broker.core.log_dirs import LogDirStates
from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID, BrokerId, TopicPartition
from protocol.messages.control import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    StopReplicaPartitionState,
    StopReplicaRequest,
)
from simulation.contracts.contract import Broken, of_function

_NO_EPOCHS = (-1, -2)
"""StopReplica of before leader epochs, and of a deletion."""


@of_function(rules.check_control_epochs)
def control_epochs(
    *, broker_epoch: int, own_broker_epoch: int, controller_epoch: int, seen_controller_epoch: int
) -> Generator[None, ErrorCode, Broken]:
    """Nobody obeys an older controller, nor what was meant for an earlier start of its broker."""
    code = yield
    if broker_epoch >= 0 and broker_epoch < own_broker_epoch:
        wanted = ErrorCode.STALE_BROKER_EPOCH
    elif controller_epoch < seen_controller_epoch:
        wanted = ErrorCode.STALE_CONTROLLER_EPOCH
    else:
        wanted = ErrorCode.NONE
    if code is not wanted:
        return (
            f"{code.name}, not {wanted.name}: broker epoch {broker_epoch} of {own_broker_epoch},"
            f" controller epoch {controller_epoch}, seen {seen_controller_epoch}"
        )
    return None


class _Asked(NamedTuple):
    """One partition of a LeaderAndIsr and what the broker has of it."""

    broker_id: int
    topic_id: bytes
    state: LeaderAndIsrPartitionState
    replica: ReplicaView
    any_log_dir_offline: bool

    @property
    def is_another_topic(self) -> bool:
        return self.replica.topic_id not in {ZERO_UUID, self.topic_id} and any(self.topic_id)

    @property
    def may_begin_empty(self) -> bool:
        """Whether its log is known to be lost, and somebody else has its records.

        Or nobody has, and an operator accepted that.
        """
        if self.replica.loss is None:
            return False
        if set(self.state.isr) <= {self.broker_id}:
            return self.replica.loss is Loss.ACCEPTED
        if self.broker_id in {self.state.leader, *self.state.isr}:
            return False
        return self.state.leader < 0 or self.state.leader_epoch > self.replica.failed_epoch

    @property
    def is_offline(self) -> bool:
        """Whether the replica is on a failed log dir, and no new topic takes its place."""
        if self.replica.state is not HostedState.OFFLINE or self.may_begin_empty:
            return False
        is_lost_unknown = self.replica.loss is not None and not any(self.replica.topic_id)
        return not (self.state.is_new and (self.is_another_topic or is_lost_unknown))

    def wanted(self) -> tuple[ReplicaAction, ErrorCode, bool]:
        """Return the action, the answer, and whether a log is made."""
        is_hosted = self.replica.state is not HostedState.OFFLINE
        if self.is_offline:
            return ReplicaAction.REFUSE, ErrorCode.KAFKA_STORAGE_ERROR, False
        if is_hosted and self.is_another_topic:
            return ReplicaAction.REFUSE, ErrorCode.INCONSISTENT_TOPIC_ID, False
        known = self.replica.leader_epoch if is_hosted else -1
        is_again = is_hosted and self.replica.is_stopped and self.state.leader_epoch == known
        if self.state.leader_epoch <= known and not is_again:
            return *self._known_epoch(known), False
        if self.broker_id not in self.state.replicas:
            return ReplicaAction.REFUSE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, False
        return self._new_epoch(has_log=is_hosted and self.replica.log_dir is not None)

    def _known_epoch(self, known: int) -> tuple[ReplicaAction, ErrorCode]:
        had_id, has_id = any(self.replica.topic_id), any(self.topic_id)
        if self.state.leader_epoch == known and has_id and not had_id:
            return ReplicaAction.ASSIGN_TOPIC_ID, ErrorCode.NONE
        is_followed = self.state.leader != self.broker_id
        if self.state.leader_epoch == known and had_id and not has_id and is_followed:
            return ReplicaAction.KEEP, ErrorCode.NONE
        return ReplicaAction.REFUSE, ErrorCode.STALE_CONTROLLER_EPOCH

    def _new_epoch(self, *, has_log: bool) -> tuple[ReplicaAction, ErrorCode, bool]:
        may_make = self.state.is_new or self.may_begin_empty or not self.any_log_dir_offline
        if not (has_log or may_make):
            return ReplicaAction.HOST_OFFLINE, ErrorCode.KAFKA_STORAGE_ERROR, False
        if self.state.leader != self.broker_id:
            return ReplicaAction.FOLLOW, ErrorCode.NONE, not has_log
        led_when_it_failed = self.state.leader_epoch <= self.replica.failed_epoch
        is_same = self.replica.topic_id == self.topic_id and any(self.topic_id)
        if led_when_it_failed and (is_same or not self.state.is_new):
            return ReplicaAction.REFUSE, ErrorCode.KAFKA_STORAGE_ERROR, False
        return ReplicaAction.LEAD, ErrorCode.NONE, not has_log


@of_function(rules.decide_leader_and_isr)
def leader_and_isr(
    request: LeaderAndIsrRequest,
    *,
    broker_id: BrokerId,
    view: Callable[[TopicPartition], ReplicaView],
    log_dirs: LogDirStates,
) -> Generator[None, list[LeaderAndIsrDecision], Broken]:
    """A log is made only where none can lie, and what is offline, older or another's is refused."""
    any_offline = bool(log_dirs.offline_paths)
    asked = {
        TopicPartition(topic.topic_name, state.partition_index): _Asked(
            broker_id,
            bytes(topic.topic_id),
            state,
            view(TopicPartition(topic.topic_name, state.partition_index)),
            any_offline,
        )
        for topic in request.topic_states
        for state in topic.partition_states
    }
    decisions = yield
    if [decision.tp for decision in decisions] != list(asked):
        return f"asked for {list(asked)}, decided {[decision.tp for decision in decisions]}"
    for decision in decisions:
        one = asked[decision.tp]
        said = (decision.action, decision.error, decision.create_log)
        if said != one.wanted() or (decision.topic_id, decision.state) != (one.topic_id, one.state):
            return f"{decision.tp}: {said}, not {one.wanted()}, of {one.replica} told {one.state}"
    return None


@of_function(rules.topics_made_anew)
def topics_made_anew(
    request: LeaderAndIsrRequest,
    *,
    broker_id: BrokerId,
    view: Callable[[TopicPartition], ReplicaView],
) -> Generator[None, list[StopReplicaDecision], Broken]:
    """Only a replica that begins takes the place of another topic's log of its name."""
    wanted: dict[TopicPartition, StopAction] = {}
    for topic in request.topic_states:
        for state in topic.partition_states:
            tp = TopicPartition(topic.topic_name, state.partition_index)
            replica = view(tp)
            is_another = any(replica.topic_id) and any(topic.topic_id)
            is_another = is_another and replica.topic_id != bytes(topic.topic_id)
            gets_all = state.leader >= 0 and broker_id in set(state.replicas) - set(state.isr)
            begins = bool(state.is_new) or (gets_all and state.leader != broker_id)
            if is_another and begins:
                is_online = replica.state is HostedState.ONLINE
                if is_online or replica.log_dir is not None:
                    wanted[tp] = StopAction.DELETE if is_online else StopAction.DELETE_FILES
    taken_out = yield
    if {each.tp: each.action for each in taken_out} != wanted:
        return f"{[(str(each.tp), each.action) for each in taken_out]} are taken out, not {wanted}"
    return None


def _wanted_stop(
    state: StopReplicaPartitionState, replica: ReplicaView, *, any_unread: bool, is_elsewhere: bool
) -> tuple[StopAction, ErrorCode]:
    """Return what StopReplica is to do with one partition, and its answer."""
    deletes = bool(state.delete_partition)
    # A log of it that nobody sees may come back with a log dir, and nobody would order it away.
    may_come_back = deletes and any_unread and is_elsewhere
    if replica.state is HostedState.ONLINE:
        is_older = state.leader_epoch < replica.leader_epoch
        if is_older and state.leader_epoch not in _NO_EPOCHS:
            return StopAction.NOTHING, ErrorCode.FENCED_LEADER_EPOCH
        code = ErrorCode.KAFKA_STORAGE_ERROR if may_come_back else ErrorCode.NONE
        return StopAction.DELETE if deletes else StopAction.STOP, code
    is_lost, has_log = replica.loss is not None, replica.log_dir is not None
    is_offline = replica.state is HostedState.OFFLINE
    if is_offline and not is_lost and not (has_log and deletes):
        return StopAction.NOTHING, ErrorCode.KAFKA_STORAGE_ERROR
    if not deletes:
        return StopAction.NOTHING, ErrorCode.NONE
    may_lie_unread = may_come_back or (any_unread and not has_log and not is_lost)
    code = ErrorCode.KAFKA_STORAGE_ERROR if may_lie_unread else ErrorCode.NONE
    return StopAction.DELETE_FILES, code


@of_function(rules.decide_stop_replica)
def stop_replica(
    request: StopReplicaRequest,
    *,
    view: Callable[[TopicPartition], ReplicaView],
    any_unread: bool = False,
    is_elsewhere: Callable[[TopicPartition], bool] = lambda _: False,
) -> Generator[None, list[StopReplicaDecision], Broken]:
    """What cannot be deleted now is not taken for deleted, and no older order deletes anything."""
    wanted: dict[TopicPartition, tuple[StopAction, ErrorCode]] = {}
    for topic in request.topic_states:
        for state in topic.partition_states:
            tp = TopicPartition(topic.topic_name, state.partition_index)
            wanted[tp] = _wanted_stop(
                state, view(tp), any_unread=any_unread, is_elsewhere=is_elsewhere(tp)
            )
    decisions = yield
    said = {decision.tp: (decision.action, decision.error) for decision in decisions}
    return None if said == wanted else f"{said}, not {wanted}"
