"""What moves of replicas and partitions between phases promise, and what brokers are sent by them.

Source: ReplicaStateMachine.scala, PartitionStateMachine.scala.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Final

from controller.core import partition_moves, replica_moves
from controller.core.effects import Effect, Send
from controller.core.phases import PartitionPhase, ReplicaPhase
from controller.core.replica_moves import Replica
from controller.core.state import Partition
from controller.core.step import Step
from protocol.ids import NO_LEADER, TopicPartition
from protocol.messages.control import LeaderAndIsrRequest, StopReplicaRequest
from simulation.contracts.contract import Broken, of_function
from simulation.contracts.controller.cluster_facts import alive

_LIFE: Final[dict[ReplicaPhase, frozenset[ReplicaPhase]]] = {
    ReplicaPhase.NON_EXISTENT: frozenset({ReplicaPhase.NEW}),
    ReplicaPhase.NEW: frozenset({ReplicaPhase.ONLINE, ReplicaPhase.OFFLINE}),
    ReplicaPhase.ONLINE: frozenset({ReplicaPhase.ONLINE, ReplicaPhase.OFFLINE}),
    ReplicaPhase.OFFLINE: frozenset(
        {
            ReplicaPhase.ONLINE,
            ReplicaPhase.OFFLINE,
            ReplicaPhase.DELETION_STARTED,
            ReplicaPhase.DELETION_INELIGIBLE,
        }
    ),
    ReplicaPhase.DELETION_STARTED: frozenset(
        {ReplicaPhase.DELETION_SUCCESSFUL, ReplicaPhase.DELETION_INELIGIBLE}
    ),
    ReplicaPhase.DELETION_INELIGIBLE: frozenset({ReplicaPhase.ONLINE, ReplicaPhase.OFFLINE}),
    ReplicaPhase.DELETION_SUCCESSFUL: frozenset({ReplicaPhase.NON_EXISTENT}),
}
"""Where a replica is -> where it may come from there."""


@of_function(replica_moves.move_replicas)
def move_replicas(
    step: Step, replicas: Iterable[Replica], target: ReplicaPhase
) -> Generator[None, None, Broken]:
    """Replicas go where their life allows it; each broker is sent what that asks of it."""
    if not isinstance(replicas, Sequence):
        return None
    phases = {one: _phase(step, one) for one in replicas}
    before = {one: step.state.find(one.tp) for one in phases}
    count = len(step.effects)
    yield
    moved: list[Replica] = []
    for one, phase in phases.items():
        old = before[one]
        leads = old is not None and old.leader == one.broker_id and old.leader_epoch >= 0
        may = target in _LIFE[phase] and not (target is ReplicaPhase.NEW and leads)
        if may:
            moved.append(one)
        if _phase(step, one) is not (target if may else phase):
            return f"{one} goes from {phase} to {_phase(step, one)}, not {target}"
    sent = step.effects[count:]
    for one in moved:
        broken = _badly_sent(step, one, phases[one], target, before[one], sent)
        if broken is not None:
            return f"{one} goes from {phases[one]} to {target}: {broken}"
    return None


def _phase(step: Step, one: Replica) -> ReplicaPhase:
    return step.run.replica_phases.get(one.tp, {}).get(one.broker_id, ReplicaPhase.NON_EXISTENT)


def _badly_sent(
    step: Step,
    one: Replica,
    phase: ReplicaPhase,
    target: ReplicaPhase,
    old: Partition | None,
    sent: list[Effect],
) -> Broken:
    is_alive = one.broker_id in alive(step.state)
    stops = list(_stops(sent, one))
    is_deletion = target is ReplicaPhase.DELETION_STARTED
    wanted_stops = [is_deletion] if target is ReplicaPhase.OFFLINE or is_deletion else []
    if stops != (wanted_stops if is_alive else []):
        return f"it is stopped with {stops}"
    if old is None or old.leader_epoch < 0 or not is_alive:
        return _still_in_sync(step, one, old) if target is ReplicaPhase.OFFLINE else None
    told = list(_told(sent, one))
    if target is ReplicaPhase.NEW:
        return None if told == [True] else f"it is told to begin: {told}"
    if target is ReplicaPhase.ONLINE and phase is not ReplicaPhase.NEW:
        is_added = one.broker_id in old.adding_replicas and one.broker_id not in old.isr
        return (
            None if told == [is_added] else f"it is told, as new or not: {told}, added: {is_added}"
        )
    return _still_in_sync(step, one, old) if target is ReplicaPhase.OFFLINE else None


def _still_in_sync(step: Step, one: Replica, old: Partition | None) -> Broken:
    """What is offline leads nobody, and is out of the Isr if another member is in it."""
    new = step.state.find(one.tp)
    if old is None or new is None or old.leader_epoch < 0:
        return None
    if new.leader == one.broker_id:
        return f"it leads: {new}"
    if one.broker_id in new.isr and len(new.isr) > 1:
        return f"it is in the Isr: {new}"
    was_member = one.broker_id in old.isr
    if was_member and new.leader_epoch <= old.leader_epoch:
        return f"{old} becomes {new} by the same epoch"
    is_last = not frozenset(new.isr) - {one.broker_id}
    if not was_member and new.leader_epoch == old.leader_epoch and new.isr != old.isr:
        return f"it was no member, and {old} becomes {new}"
    return f"{new} is led and has no member" if is_last and new.leader != NO_LEADER else None


def _stops(sent: list[Effect], one: Replica) -> Iterator[bool]:
    for request in _requests(sent, one):
        for topic in request.topic_states if isinstance(request, StopReplicaRequest) else ():
            for each in topic.partition_states:
                if (topic.topic_name, each.partition_index) == one.tp:
                    yield each.delete_partition


def _told(sent: list[Effect], one: Replica) -> Iterator[bool]:
    for request in _requests(sent, one):
        for topic in request.topic_states if isinstance(request, LeaderAndIsrRequest) else ():
            for each in topic.partition_states:
                if (topic.topic_name, each.partition_index) == one.tp:
                    yield each.is_new


def _requests(sent: list[Effect], one: Replica) -> Iterator[object]:
    for effect in sent:
        if isinstance(effect, Send) and effect.broker_id == one.broker_id:
            yield effect.request


_PARTITION_LIFE: Final[dict[PartitionPhase, frozenset[PartitionPhase]]] = {
    PartitionPhase.NON_EXISTENT: frozenset({PartitionPhase.NEW}),
    PartitionPhase.NEW: frozenset({PartitionPhase.OFFLINE}),
    PartitionPhase.ONLINE: frozenset({PartitionPhase.OFFLINE}),
    PartitionPhase.OFFLINE: frozenset({PartitionPhase.OFFLINE, PartitionPhase.NON_EXISTENT}),
}
"""Where a partition is -> where it may come from there without an election."""


@of_function(partition_moves.move_partitions)
def move_partitions(
    step: Step, tps: Iterable[TopicPartition], target: PartitionPhase
) -> Generator[None, None, Broken]:
    """Partitions go where their life allows it; nobody is told and nothing decided by that."""
    if not isinstance(tps, Sequence):
        return None
    phases = {tp: step.run.phase_of(tp) for tp in tps}
    done = (len(step.records), len(step.effects))
    yield
    for tp, phase in phases.items():
        wanted = target if target in _PARTITION_LIFE[phase] else phase
        if step.run.phase_of(tp) is not wanted:
            return f"{tp} goes from {phase} to {step.run.phase_of(tp)}, not {target}"
        waits = wanted in {PartitionPhase.NEW, PartitionPhase.OFFLINE}
        if waits is not (tp in step.run.leaderless):
            return f"{tp} is {wanted}, and waits for a leader: {not waits}"
    is_quiet = done == (len(step.records), len(step.effects))
    return None if is_quiet else "something is decided or sent by it"
