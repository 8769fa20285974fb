"""What the controller promises of each event as a whole, whatever its rules made of it.

What was recorded is all that changed, and what changed is told.
"""

from __future__ import annotations

from collections.abc import Generator
from inspect import unwrap
from typing import Final

from controller.core.decision import Decision, Durable
from controller.core.effects import Answer, ConnectBroker, DisconnectBroker, Effect, Send
from controller.core.events import Event, RequestArrived, Tick
from controller.core.machine import Machine
from controller.core.phases import PartitionPhase
from controller.core.records import Record
from controller.core.state import ClusterState, Partition, Topic
from protocol.ids import NO_LEADER, TopicPartition
from simulation.contracts.contract import Broken, OfRun, of_method
from simulation.contracts.controller.cluster_facts import (
    alive,
    changes,
    copy_of,
    facts_of,
    is_same,
    leaves,
    partitions,
    placed_in,
    replaced_since,
    working,
)
from simulation.contracts.controller.decided import once_decided

Told = Generator[None, Decision, Broken]
_replayed: Final[OfRun[Machine, ClusterState]] = OfRun()
"""What the decisions of a machine lead to by themselves."""


def _effects(decision: Decision) -> list[Effect]:
    return list(decision.effects(Durable(decision.journal_number)))


@of_method(Machine, "step")
def recorded(machine: Machine, _: Event, _now_ms: int) -> Told:
    """What is decided is what is recorded: a replay of the journal leads to the same cluster."""
    replayed = _replayed.get(machine)
    if replayed is None or not is_same(replayed, machine.state):
        replayed = copy_of(machine.state)
    number = machine.state.journal_number
    decision = yield
    for record in decision.records:
        _apply(record, replayed)
    wanted = max(number, replayed.journal_number) + bool(decision.records)
    if (machine.state.journal_number, decision.journal_number) != (wanted, wanted):
        return f"decision {wanted} is {decision.journal_number}, {machine.state.journal_number}"
    replayed.journal_number = machine.state.journal_number
    _replayed[machine] = replayed
    if is_same(replayed, machine.state):
        if decision.records:
            # What is the same object needs no comparison the next time.
            _replayed[machine] = copy_of(machine.state)
        return None
    del _replayed[machine]
    return f"not recorded: {changes(facts_of(replayed), facts_of(machine.state))}"


def _apply(record: Record, state: ClusterState) -> None:
    """Apply a record while no contract looks: it is not the controller that does it."""
    unwrap(type(record).apply)(record, state)


@of_method(Machine, "step")
def answered(machine: Machine, event: Event, _now_ms: int) -> Told:
    """Who asks is answered once, in this event or a later one, and nobody else is."""
    waiting = _askers(machine)
    decision = yield
    due = _askers(machine)
    given = [each.token for each in _effects(decision) if isinstance(each, Answer)]
    asked = [event.token] if isinstance(event, RequestArrived) else []
    if sorted(given + due) != sorted(waiting + asked):
        return f"due {waiting} and asked {asked}; answered {given}, still due {due}"
    return None


def _askers(machine: Machine) -> list[int]:
    """Return who waits for an answer, as often as it waits."""
    hearing = machine.run.hearing
    due = [] if hearing is None else [each.token for each in hearing.held]
    for each in machine.run.waiting:
        if isinstance(each.done, Answer):
            due.append(each.done.token)
            if isinstance(each.late, Answer) and each.late.token != each.done.token:
                due.append(each.late.token)
    return due


@of_method(Machine, "step")
def sent(machine: Machine, _: Event, _now_ms: int) -> Told:
    """Requests go to brokers that are alive, in order, by a channel to this life of theirs."""
    open_to = {each: progress.broker_epoch for each, progress in machine.run.channels.items()}
    numbers = dict(machine.run.sequences)
    decision = yield
    for effect in _effects(decision):
        if isinstance(effect, ConnectBroker):
            open_to[effect.broker_id] = effect.broker_epoch
        elif isinstance(effect, DisconnectBroker):
            open_to.pop(effect.broker_id, None)
        elif isinstance(effect, Send):
            number = numbers.get(effect.broker_id, 0) + 1
            numbers[effect.broker_id] = number
            epochs = (open_to.get(effect.broker_id), effect.request.broker_epoch)
            if epochs[0] != epochs[1] or effect.sequence != number:
                return f"{effect} is number {number}, and the channel is to {epochs[0]}"
    state, hears = machine.state, machine.run.hearing is not None
    wanted = {} if hears else {each: state.brokers[each].broker_epoch for each in alive(state)}
    return None if open_to == wanted else f"channels to {open_to}, and alive are {wanted}"


@of_method(Machine, "step")
def ticked(machine: Machine, event: Event, now_ms: int) -> Told:
    """What a tick was for is done with: one that is due again at once would come for ever."""
    if not isinstance(event, Tick):
        return None
    yield
    due_ms = machine.next_deadline_ms()
    if due_ms is not None and due_ms <= now_ms:
        return f"{event} is over at {now_ms}, and the next one was due at {due_ms}"
    return None


@of_method(Machine, "step")
def epochs_rise(machine: Machine, _: Event, _now_ms: int) -> Told:
    """What leads differently does so by a higher epoch, and no epoch ever falls."""
    state = machine.state
    placed = placed_in(state)
    controller_epoch, next_broker_epoch = state.controller_epoch, state.next_broker_epoch
    next_producer_id = state.next_producer_id
    decision = yield
    if not decision.records:
        return None
    if (
        state.controller_epoch < controller_epoch
        or state.next_broker_epoch < next_broker_epoch
        or state.next_producer_id < next_producer_id
    ):
        return f"controller {controller_epoch}, brokers {next_broker_epoch}, {next_producer_id}"
    for tp, topic, after, old, topic_id in replaced_since(placed, state):
        if old is not None and topic_id == topic.topic_id:
            broken = _steps_back(old, after, state)
            if broken is not None:
                return f"{tp}: {old} becomes {after}: {broken}"
    return None


def _steps_back(old: Partition, new: Partition, state: ClusterState) -> Broken:
    leader_epochs, versions = (
        (old.leader_epoch, new.leader_epoch),
        (
            old.partition_epoch,
            new.partition_epoch,
        ),
    )
    if leader_epochs[0] > leader_epochs[1] or versions[0] > versions[1]:
        return "an epoch falls"
    if old.leader != new.leader and leader_epochs[0] == leader_epochs[1]:
        return "another leader leads by the same epoch"
    is_other = (old.leader, old.isr, old.leader_epoch, old.is_recovering) != (
        new.leader,
        new.isr,
        new.leader_epoch,
        new.is_recovering,
    )
    if is_other and versions[0] == versions[1]:
        return "another leadership has the same partition epoch"
    if is_other and new.controller_epoch != state.controller_epoch:
        return f"decided by controller {state.controller_epoch}"
    lost_members = [each for each in old.isr if each not in new.isr]
    is_told = leader_epochs[0] < leader_epochs[1] or old.leader in new.isr
    return None if is_told or not lost_members else "its leader is out of the Isr by the same epoch"


@once_decided
def leaderships(machine: Machine) -> Broken:
    """Leaders are online members of the Isr, which is among the replicas, and hardly ever empty.

    Only where a broker has not told of its logs, and may have one that nobody else has.
    """
    run, state = machine.run, machine.state
    untold = [each for each in state.brokers if each not in run.have_told or each in run.untold]
    for tp, partition, topic in partitions(state):
        may_wait = run.awaits_logs and untold and partition.leader == NO_LEADER
        if partition.leader_epoch >= 0 and not (partition.isr or may_wait):
            return f"{tp} has nobody in its Isr, and have not told of their logs: {untold}"
        if (broken := _badly_led(state, tp, partition, topic)) is not None:
            return broken
    return None


def _badly_led(
    state: ClusterState, tp: TopicPartition, partition: Partition, topic: Topic
) -> Broken:
    replicas, isr = frozenset(partition.replicas), frozenset(partition.isr)
    moving = partition.adding_replicas + partition.removing_replicas
    is_sound = len(replicas) == len(partition.replicas) and len(frozenset(moving)) == len(moving)
    if not is_sound or not replicas.issuperset(moving):
        return f"{tp} is on {partition.replicas}, of which move {moving}"
    is_led = partition.leader_epoch >= 0
    if is_led and not replicas.issuperset(isr):
        return f"{tp} has the Isr {partition.isr} of {partition.replicas}"
    if not is_led or topic.is_deleting or partition.leader == NO_LEADER:
        return None
    leader = state.brokers.get(partition.leader)
    is_able = leader is not None and not leader.is_fenced and partition.leader in isr
    if is_able and tp not in state.offline.get(partition.leader, ()):
        return None
    return f"{tp} is led by {partition.leader}, which is {leader}: {partition}"


@once_decided
def somebody_leads(machine: Machine) -> Broken:
    """Whoever can lead without loss does: no partition waits beside an online member of its Isr."""
    for tp, partition, topic in partitions(machine.state):
        if topic.is_deleting or partition.leader != NO_LEADER:
            continue
        able = working(machine.state, tp)
        if partition.leader_epoch < 0:
            # One that is reassigned before it ever had a leader waits for a broker to come.
            is_late = any(each not in partition.adding_replicas for each in able)
        else:
            is_late = any(each in partition.isr for each in able)
        if is_late:
            return f"nobody leads {tp}: {partition}, online are {able}"
    return None


@once_decided
def phases_fit(machine: Machine) -> Broken:
    """Phases say of partitions and replicas what is so."""
    run, state = machine.run, machine.state
    for tp, partition, topic in partitions(state):
        phase = run.partition_phases.get(tp, PartitionPhase.NON_EXISTENT)
        is_waiting = phase in (PartitionPhase.NEW, PartitionPhase.OFFLINE)
        if is_waiting is not (tp in run.leaderless):
            return f"{tp} is {phase}, and waits for a leader: {tp in run.leaderless}"
        if not topic.is_deleting:
            broken = _phase_broken(state, tp, partition, phase)
            if broken:
                return broken
    for tp, by_broker in run.replica_phases.items():
        if state.find(tp) is None and by_broker:
            return f"{tp} is not there and has replicas {by_broker}"
    return _replica_phases_broken(machine)


def _phase_broken(
    state: ClusterState, tp: TopicPartition, partition: Partition, phase: PartitionPhase
) -> Broken:
    leader = state.brokers.get(partition.leader)
    if leader is not None and leader.is_shutting_down:
        return None  # It leads until somebody else can.
    if partition.leader_epoch < 0:
        wanted = PartitionPhase.NEW
    elif partition.leader == NO_LEADER:
        wanted = PartitionPhase.OFFLINE
    else:
        wanted = PartitionPhase.ONLINE
    return None if phase is wanted else f"{tp} is {phase}: {partition}"


def _replica_phases_broken(machine: Machine) -> Broken:
    run, state = machine.run, machine.state
    for tp, partition, topic in partitions(state):
        phases = run.replica_phases.get(tp, {})
        if not leaves(topic, state) and sorted(phases) != sorted(partition.replicas):
            return f"{tp} has {partition.replicas}, phases are of {phases}"
    return None
