"""Random orders of dir failures, control requests, moves and restarts on the rules of one broker.

The engine here is a few dictionaries that do what the rules say; the controller is one that marks a
replica as new only when it was never created or was deleted.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from broker.core.control_rules import (
    LeaderAndIsrDecision,
    ReplicaAction,
    StopAction,
    decide_leader_and_isr,
    decide_stop_replica,
)
from broker.core.future_log import CleaningPauses, Move, MoveEvent, MoveState, decide_move
from broker.core.hosted import HostedPartitions
from broker.core.log_dirs import LogDirStates
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import BrokerId, TopicPartition
from protocol.messages.control import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)

PATHS = ("/d1", "/d2", "/d3")
PARTITIONS = tuple(TopicPartition("t", index) for index in range(2))
TOPIC_ID = bytes(range(16))
ME = BrokerId(1)

partitions = st.sampled_from(PARTITIONS)
paths = st.sampled_from(PATHS)


@dataclass(slots=True)
class Hosted:
    """An online partition of the small engine; ``data`` stands for the records of its log."""

    data: int
    log_dir: str
    leader_epoch: int
    move: Move | None = None
    topic_id: bytes = TOPIC_ID
    is_stopped: bool = False

    @property
    def future_log_dir(self) -> str | None:
        return self.move.target_dir if self.move is not None else None


@dataclass(frozen=True, slots=True)
class Idle:
    data: int
    log_dir: str
    topic_id: bytes = TOPIC_ID


class BrokerUnderRules(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.disks: dict[str, dict[TopicPartition, int]] = {path: {} for path in PATHS}
        """Current logs per log dir, also of failed ones: what a restart would find."""
        self.futures: dict[str, dict[TopicPartition, int]] = {path: {} for path in PATHS}
        self.created: dict[TopicPartition, int] = {}
        """What the controller knows to exist here, and the data that was acknowledged in it."""
        self.epoch = 0
        self.next_data = 0
        self.start(broken=())

    def start(self, broken: tuple[str, ...]) -> None:
        self.log_dirs = LogDirStates(PATHS, offline=broken)
        self.hosted: HostedPartitions[Hosted, Idle] = HostedPartitions()
        self.pauses = CleaningPauses()
        for path in self.log_dirs.online_paths:
            for tp, data in self.disks[path].items():
                assert self.hosted.idle_replica(tp) is None, f"{tp} is current in two log dirs"
                self.hosted.put_idle(tp, Idle(data, path))
                self.log_dirs.count_log(path)
            for _ in self.futures[path]:
                self.log_dirs.count_log(path)

    @rule(broken=st.sets(paths, max_size=2))
    def restart(self, broken: set[str]) -> None:
        self.start(tuple(sorted(broken)))

    @precondition(lambda self: len(self.log_dirs.online_paths) > 1)
    @rule(path=paths)
    def fail_log_dir(self, path: str) -> None:
        if not self.log_dirs.fail(path):
            return
        failed, ended = self.hosted.on_log_dir_failed(path)
        for tp, partition in zip(failed.current, ended, strict=True):
            self.end_move(tp, partition)
        for tp in failed.future:
            partition = self.hosted.online_replica(tp)
            assert partition is not None
            self.end_move(tp, partition)

    @rule(tp=partitions, leads=st.booleans())
    def leader_and_isr(self, tp: TopicPartition, leads: bool) -> None:
        self.epoch += 1
        state = LeaderAndIsrPartitionState(
            partition_index=tp.partition,
            controller_epoch=1,
            leader=ME if leads else 2,
            leader_epoch=self.epoch,
            isr=[1, 2],
            partition_epoch=0,
            replicas=[1, 2],
            is_new=tp not in self.created,
        )
        request = LeaderAndIsrRequest(
            controller_id=0,
            controller_epoch=1,
            topic_states=[
                LeaderAndIsrTopicState(
                    topic_name=tp.topic, topic_id=TOPIC_ID, partition_states=[state]
                )
            ],
            live_leaders=[],
        )
        [decision] = decide_leader_and_isr(
            request, broker_id=ME, view=self.hosted.view, log_dirs=self.log_dirs
        )
        if decision.action is ReplicaAction.HOST_OFFLINE:
            self.hosted.put_offline(tp, TOPIC_ID, None)
        elif decision.action in (ReplicaAction.LEAD, ReplicaAction.FOLLOW):
            self.take_role(decision)
        else:
            assert decision.error is ErrorCode.KAFKA_STORAGE_ERROR

    def take_role(self, decision: LeaderAndIsrDecision) -> None:
        tp = decision.tp
        partition = self.hosted.online_replica(tp)
        if partition is not None:
            partition.leader_epoch = self.epoch
            if partition.move is not None:
                partition.move.on_leader_epoch(self.epoch, fallback_offset=0)
            return
        idle = self.hosted.idle_replica(tp)
        assert decision.create_log == (idle is None)
        if idle is None:
            try:
                path = self.log_dirs.place(tp)
            except KafkaError:  # Its preferred log dir failed, or the last one did.
                self.hosted.put_offline(tp, TOPIC_ID, None)
                return
            self.log_dirs.forget_preference(tp)
            self.next_data += 1
            idle = Idle(self.next_data, path)
            self.disks[path][tp] = idle.data
        assert self.created.setdefault(tp, idle.data) == idle.data, f"{tp} lost its data"
        self.hosted.put_online(tp, Hosted(idle.data, idle.log_dir, self.epoch))
        self.resume_move(tp)

    def resume_move(self, tp: TopicPartition) -> None:
        """Attach the future log that an earlier run left behind, or drop it (KAFKA-16082)."""
        partition = self.hosted.online_replica(tp)
        assert partition is not None
        if self.futures[partition.log_dir].pop(tp, None) is not None:
            self.log_dirs.uncount_log(partition.log_dir)  # The log was made anew beside it.
        for path in self.log_dirs.online_paths:
            if tp in self.futures[path] and partition.move is None:
                self.begin_move(tp, partition, path)

    def begin_move(self, tp: TopicPartition, partition: Hosted, path: str) -> None:
        partition.move = Move(
            tp,
            source_dir=partition.log_dir,
            target_dir=path,
            leader_epoch=partition.leader_epoch,
            fallback_offset=0,
        )
        self.pauses.pause(tp)

    def end_move(self, tp: TopicPartition, partition: Hosted) -> None:
        if partition.move is not None and partition.move.on(MoveEvent.CANCEL):
            self.pauses.resume(tp)
        partition.move = None

    def drop_future(self, tp: TopicPartition) -> None:
        for path in self.log_dirs.online_paths:
            if self.futures[path].pop(tp, None) is not None:
                self.log_dirs.uncount_log(path)

    @rule(tp=partitions, path=st.sampled_from([*PATHS, "any"]))
    def alter_replica_log_dirs(self, tp: TopicPartition, path: str) -> None:
        replica = self.hosted.view(tp)
        decision = decide_move(
            tp, path, replica=replica, is_known=tp in self.created, log_dirs=self.log_dirs
        )
        partition = self.hosted.online_replica(tp)
        if decision.abandon_future:
            assert partition is not None
            self.end_move(tp, partition)
            self.drop_future(tp)
        if decision.remember:
            self.log_dirs.prefer(tp, path)
        if decision.start:
            assert partition is not None
            assert not self.log_dirs.any_offline
            self.futures[path][tp] = partition.data
            self.log_dirs.count_log(path)
            self.begin_move(tp, partition, path)
            self.log_dirs.forget_preference(tp)

    @rule(
        tp=partitions,
        event=st.sampled_from(
            [MoveEvent.TRUNCATED, MoveEvent.CAUGHT_UP, MoveEvent.FELL_BEHIND, MoveEvent.ERROR]
        ),
    )
    def move_goes_on(self, tp: TopicPartition, event: MoveEvent) -> None:
        partition = self.hosted.online_replica(tp)
        if partition is None or partition.move is None:
            return
        expected = {
            MoveState.TRUNCATING: (MoveEvent.TRUNCATED,),
            MoveState.COPYING: (MoveEvent.CAUGHT_UP, MoveEvent.ERROR),
            MoveState.SWAPPING: (MoveEvent.FELL_BEHIND,),
        }
        if event in expected.get(partition.move.state, ()):
            partition.move.on(event)

    @rule(tp=partitions)
    def swap(self, tp: TopicPartition) -> None:
        partition = self.hosted.online_replica(tp)
        if partition is None or partition.move is None:
            return
        move = partition.move
        if move.state is not MoveState.SWAPPING:
            return
        data = self.futures[move.target_dir].pop(tp)
        assert data == partition.data
        self.disks[move.target_dir][tp] = data
        del self.disks[move.source_dir][tp]
        self.log_dirs.uncount_log(move.source_dir)
        if move.on(MoveEvent.SWAP_DONE):
            self.pauses.resume(tp)
        partition.log_dir, partition.move = move.target_dir, None

    @rule(tp=partitions, delete=st.booleans())
    def stop_replica(self, tp: TopicPartition, delete: bool) -> None:
        asked = StopReplicaPartitionState(
            partition_index=tp.partition, leader_epoch=-2, delete_partition=delete
        )
        request = StopReplicaRequest(
            controller_id=0,
            controller_epoch=1,
            topic_states=[StopReplicaTopicState(topic_name=tp.topic, partition_states=[asked])],
        )
        if self.log_dirs.any_offline and self.hosted.online_replica(tp) is None:
            return  # A real controller deletes only what answered; see the facts on deletion.
        [decision] = decide_stop_replica(request, view=self.hosted.view)
        partition = self.hosted.online_replica(tp)
        if decision.action in (StopAction.STOP, StopAction.DELETE) and partition is not None:
            self.end_move(tp, partition)
        if decision.action in (StopAction.DELETE, StopAction.DELETE_FILES):
            self.hosted.remove(tp)
            self.created.pop(tp, None)
            self.drop_future(tp)
            for path in self.log_dirs.online_paths:
                if self.disks[path].pop(tp, None) is not None:
                    self.log_dirs.uncount_log(path)
        elif partition is not None:
            self.drop_future(tp)

    @invariant()
    def at_most_one_current_log_of_each_partition(self) -> None:
        for tp in PARTITIONS:
            assert sum(tp in self.disks[path] for path in PATHS) <= 1

    @invariant()
    def what_is_served_is_the_acknowledged_data_on_an_online_log_dir(self) -> None:
        for tp, partition in self.hosted.iterate_online():
            assert self.log_dirs.is_online(partition.log_dir)
            assert self.disks[partition.log_dir][tp] == partition.data == self.created[tp]
            assert not self.hosted.is_offline(tp)

    @invariant()
    def cleaning_is_paused_once_while_a_move_is_attached(self) -> None:
        for tp in PARTITIONS:
            partition = self.hosted.online_replica(tp)
            moving = partition is not None and partition.move is not None
            assert self.pauses.count(tp) == (1 if moving else 0)

    @invariant()
    def logs_are_counted_where_they_are(self) -> None:
        for path in self.log_dirs.online_paths:
            assert self.log_dirs.log_count(path) == len(self.disks[path]) + len(self.futures[path])

    @invariant()
    def offline_partitions_are_those_of_offline_log_dirs(self) -> None:
        for tp, offline in self.hosted.iterate_offline():
            assert self.log_dirs.any_offline
            assert offline.log_dir is None or not self.log_dirs.is_online(offline.log_dir)
            assert self.hosted.online_replica(tp) is None


class TestBrokerUnderRules(BrokerUnderRules.TestCase):
    pytestmark = pytest.mark.scenario(253)
    settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
