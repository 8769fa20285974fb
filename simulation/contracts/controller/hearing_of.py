"""What a change of leaderships promises: all concerned hear of it in the same event.

Source: PartitionStateMachine.scala, ReplicaStateMachine.scala.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

from controller.core.decision import Decision, Durable
from controller.core.effects import DisconnectBroker, Send
from controller.core.events import Event
from controller.core.machine import Machine
from controller.core.state import ClusterState, Partition
from protocol.ids import NO_LEADER, TopicPartition
from simulation.contracts.contract import Broken, of_method
from simulation.contracts.controller.cluster_facts import (
    alive,
    live,
    placed_in,
    replaced_since,
)


@of_method(Machine, "step")
def everyone_is_told(machine: Machine, _: Event, _now_ms: int) -> Generator[None, Decision, Broken]:
    """Of a leadership that changed all brokers hear, and by a new leader epoch all its replicas."""
    state = machine.state
    placed = placed_in(state)
    decision = yield
    if not (machine.run.hearing_is_over and decision.records):
        return None
    told = _last_told(decision)
    able = alive(state)
    for (broker_id, tp, kind), each in told.items():
        if kind != "LeaderAndIsrRequest":
            continue
        one = state.find(tp)
        is_stray = one is not None and broker_id not in one.replicas
        if not is_stray or (broker_id, tp, "StopReplicaRequest") in told:
            continue
        # What a journal lost ends so, and may be made anew in the same event.
        is_left_alone = each.leader == NO_LEADER and list(each.replicas) == [broker_id]
        if not is_left_alone:
            return f"broker {broker_id} is told to be a replica of {tp}: {one}"
    for tp, topic, one, old, _id in replaced_since(placed, state):
        if topic.is_deleting:
            continue
        broken = _unheard(state, tp, old, one, told, able)
        if broken is not None:
            return f"{tp}: {old} becomes {one}: {broken}"
    return None


_Told = dict[tuple[int, TopicPartition, str], Any]


def _last_told(decision: Decision) -> _Told:
    """Return what each broker was told last of each partition, by kind of request.

    What a broker was told before it counted as dead, its next life hears nothing of.
    """
    told: _Told = {}
    for effect in decision.effects(Durable(decision.journal_number)):
        if isinstance(effect, DisconnectBroker):
            told = {key: each for key, each in told.items() if key[0] != effect.broker_id}
        elif isinstance(effect, Send):
            broker_id, kind = effect.broker_id, type(effect.request).__name__
            for topic in effect.request.topic_states:
                for each in topic.partition_states:
                    tp = TopicPartition(topic.topic_name, each.partition_index)
                    told[broker_id, tp, kind] = each
    return told


def _unheard(
    state: ClusterState,
    tp: TopicPartition,
    old: Partition | None,
    new: Partition,
    told: _Told,
    able: list[int],
) -> Broken:
    if new.leader_epoch < 0:
        return None
    is_changed = old is None or _shown(old) != _shown(new)
    for each in able:
        place = told.get((each, tp, "UpdateMetadataRequest"))
        if is_changed and (place is None or _of(place) != (new.leader, new.leader_epoch, new.isr)):
            return f"broker {each} has heard {place}"
    if old is not None and old.leader_epoch == new.leader_epoch:
        return None
    for each in _actors(state, tp, new):
        heard = told.get((each, tp, "LeaderAndIsrRequest"))
        if heard is None or _of(heard) != (new.leader, new.leader_epoch, new.isr):
            return f"replica {each} has heard {heard}"
    return None


def _shown(one: Partition) -> tuple[object, ...]:
    return one.leader, one.leader_epoch, one.isr, one.replicas


def _of(told: Any) -> tuple[int, int, tuple[int, ...]]:  # of either kind of request
    return told.leader, told.leader_epoch, tuple(told.isr)


def _actors(state: ClusterState, tp: TopicPartition, one: Partition) -> Iterator[int]:
    """Give the replicas that go on by a new epoch: not those that are stopped, or offline."""
    for each in one.replicas:
        if each in live(state) and tp not in state.offline.get(each, ()):
            yield each
