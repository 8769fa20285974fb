"""Random stories of a cluster for property tests: what may happen, what must hold meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from hypothesis import strategies as st

from controller.core.reassignment_rules import is_complete
from controller.core.records import Leadership, LeadershipChanged, Record
from controller.core.snapshot import snapshot
from controller.core.state import ClusterState
from protocol.ids import TopicPartition
from protocol.messages.control import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from protocol.messages.elections import ElectLeadersRequest
from protocol.messages.topics import CreatePartitionsRequest, CreatePartitionsTopic
from tests.controller.core.cluster import HEARTBEAT_MS, Cluster, three_brokers
from tests.controller.core.reassigning import wish

Move: TypeAlias = tuple[str, int, int]
"""(name, broker or topic, a number)."""
TOPICS = ("t", "u")
ASSIGNMENTS = ([1, 2, 3], [2, 3, 1], [3, 1, 2], [2, 1, 3])


class Story:
    """A cluster and the moves that happened to it."""

    def __init__(self) -> None:
        self.cluster = three_brokers()

    def play(self, move: Move) -> None:
        name, broker_id, number = move
        MOVES[name](self, broker_id, number)

    def end(self) -> Cluster:
        """Let everything that is under way come to its end."""
        self.cluster.held = []
        self.cluster.settle()
        return self.cluster

    def create(self, broker_id: int, number: int) -> None:
        size = 1 + number % 3
        replicas = [ids[:size] for ids in ASSIGNMENTS]
        self.cluster.create_and_forget(TOPICS[broker_id % 2], *replicas)
        self.cluster.settle()

    def grow(self, broker_id: int, number: int) -> None:
        topic = CreatePartitionsTopic(
            name=TOPICS[broker_id % 2], count=4 + number, assignments=None
        )
        self.cluster.ask(CreatePartitionsRequest(topics=[topic], timeout_ms=1000), 3)
        self.cluster.settle()

    def delete(self, broker_id: int, _number: int) -> None:
        name = TOPICS[broker_id % 2]
        if name in self.cluster.state.topics and not self.cluster.held:
            self.cluster.delete(name)

    def fail_log_dir(self, broker_id: int, number: int) -> None:
        """Replicas with an even number are in the one log dir, the others in the other."""
        if not self.cluster.state.is_reachable(broker_id) or broker_id in self.cluster.held:
            return
        directory = 1 + number % 2
        known = self.cluster.offline_numbers(broker_id)
        if directory in known:
            return
        model = self.cluster.brokers[broker_id]
        model.bad = model.bad + [
            tp
            for tp in self.cluster.state.hosted_by(broker_id)
            if tp.partition % 2 == number % 2 and tp not in model.bad
        ]
        self.cluster.beat(broker_id, offline=[*known, directory])

    def restart(self, broker_id: int, number: int) -> None:
        """With the log dir repaired, or still bad."""
        still_bad = self.cluster.brokers[broker_id].bad if number % 2 else []
        self.cluster.start_broker(broker_id, bad=[str(tp) for tp in still_bad])

    def silence(self, broker_id: int, _number: int) -> None:
        self.cluster.held = [b for b in self.cluster.held if b != broker_id]
        self.cluster.expire(broker_id)

    def speak(self, broker_id: int, _number: int) -> None:
        if broker_id in self.cluster.state.brokers:
            self.cluster.beat(broker_id)

    def shut_down(self, broker_id: int, _number: int) -> None:
        if self.cluster.state.is_reachable(broker_id):
            self.cluster.ask_to_shut_down(broker_id)
        self.cluster.settle()

    def hold(self, broker_id: int, _number: int) -> None:
        self.cluster.held = [broker_id]

    def release(self, _broker_id: int, _number: int) -> None:
        self.end()

    def elect(self, _broker_id: int, number: int) -> None:
        request = ElectLeadersRequest(election_type=number % 2, topic_partitions=None)
        self.cluster.ask(request, 2)
        self.cluster.settle()

    def shrink(self, broker_id: int, number: int) -> None:
        self._alter_isrs(lambda tp, isr: [m for m in isr if m != broker_id], number)

    def expand(self, _broker_id: int, number: int) -> None:
        def grown(tp: TopicPartition, isr: tuple[int, ...]) -> list[int]:
            fetching = self.cluster.state.online_replicas(tp)
            return [*isr, *(r for r in fetching if r not in isr)]

        self._alter_isrs(grown, number)

    def reassign(self, broker_id: int, number: int) -> None:
        """Partition 0 or 1 of a topic gets other replicas, more of them, or fewer."""
        target = ASSIGNMENTS[(broker_id + number) % 4][: 1 + number % 2 + broker_id % 2]
        self._wish(broker_id, number, target)

    def cancel(self, broker_id: int, number: int) -> None:
        self._wish(broker_id, number, None)

    def _wish(self, broker_id: int, number: int, target: list[int] | None) -> None:
        name = f"{TOPICS[broker_id % 2]}-{number % 2}"
        self.cluster.ask(wish((name, target)), 1)
        self.cluster.settle()

    def fail_over(self, _broker_id: int, _number: int) -> None:
        """Kill the controller and start the next one from its journal."""
        self.cluster = self.cluster.restart()

    def wait(self, _broker_id: int, number: int) -> None:
        for _ in range(number):
            self.cluster.advance(HEARTBEAT_MS)
            for broker_id in self.cluster.state.reachable_brokers():
                self.cluster.beat(broker_id)

    def _alter_isrs(
        self, change: Callable[[TopicPartition, tuple[int, ...]], list[int]], number: int
    ) -> None:
        state = self.cluster.state
        for tp in state.led_partitions()[number::2]:
            partition = state.partition(tp)
            if not state.is_reachable(partition.leader):
                continue
            self.cluster.ask(
                AlterPartitionRequest(
                    broker_id=partition.leader,
                    broker_epoch=state.brokers[partition.leader].broker_epoch,
                    topics=[_alteration(state, tp, change(tp, partition.isr))],
                ),
                3,
            )
        self.cluster.settle()


def _alteration(state: ClusterState, tp: TopicPartition, isr: list[int]) -> TopicData:
    partition = state.partition(tp)
    return TopicData(
        topic_id=state.topics[tp.topic].topic_id,
        partitions=[
            PartitionData(
                partition_index=tp.partition,
                leader_epoch=partition.leader_epoch,
                partition_epoch=partition.partition_epoch,
                new_isr_with_epochs=[BrokerState(broker_id=member) for member in isr],
            )
        ],
    )


NAMES = (
    "create",
    "grow",
    "delete",
    "fail_log_dir",
    "restart",
    "silence",
    "speak",
    "shut_down",
    "hold",
    "release",
    "elect",
    "shrink",
    "expand",
    "reassign",
    "cancel",
    "fail_over",
    "wait",
)
MOVES: dict[str, Callable[[Story, int, int], None]] = {n: getattr(Story, n) for n in NAMES}

moves: st.SearchStrategy[list[Move]] = st.lists(
    st.tuples(st.sampled_from(NAMES), st.integers(1, 3), st.integers(0, 3)), max_size=25
).map(lambda later: [("create", 1, 2), ("create", 2, 1), *later])


def check_state(state: ClusterState) -> None:
    """Assert what holds at any time."""
    for tp in state.partitions():
        partition = state.partition(tp)
        assert all(member in partition.replicas for member in partition.isr)
        assert partition.leader == -1 or partition.leader in partition.isr
        if partition.leader != -1 and not state.is_deleting(tp.topic):
            is_there = state.is_replica_reachable(tp, partition.leader)
            assert is_there, f"{tp} is led by {partition.leader}, which is offline"


def check_settled(cluster: Cluster) -> None:
    """Assert what holds once every broker has answered."""
    check_state(cluster.state)
    for tp in cluster.state.led_partitions():
        partition = cluster.state.partition(tp)
        if any(cluster.state.is_replica_online(tp, member) for member in partition.isr):
            assert partition.leader != -1, f"{tp} could have a leader"
    for tp in cluster.state.partitions():
        if cluster.state.partition(tp).is_reassigning:
            assert not is_complete(cluster.state, tp), f"{tp} could be complete"
    for broker_id in cluster.state.reachable_brokers():
        model = cluster.brokers[broker_id]
        visible = [tp for tp in model.files if tp not in model.bad]
        stray = [tp for tp in visible if tp not in cluster.state.hosted.get(broker_id, {})]
        assert stray == [], f"broker {broker_id} still has {stray}"
        known = cluster.state.offline.get(broker_id, {})
        bad = [tp for tp in cluster.brokers[broker_id].bad if cluster.state.find(tp) is not None]
        assert all(tp in bad for tp in known)


def check_records(records: list[Record]) -> None:
    """Assert that replay and snapshot give one state, and that epochs only rise by one."""
    state = ClusterState()
    for record in records:
        if isinstance(record, LeadershipChanged):
            for change in record.changes:
                _check_epochs(state, change)
        record.apply(state)
    again = ClusterState()
    for record in snapshot(state):
        record.apply(again)
    assert again == state


def _check_epochs(state: ClusterState, change: Leadership) -> None:
    before = state.partition(TopicPartition(change.topic, change.partition))
    assert change.leader_epoch - before.leader_epoch in (0, 1)
    assert change.partition_epoch - before.partition_epoch in (0, 1)
    if change.leader != before.leader:
        assert change.leader_epoch == before.leader_epoch + 1
