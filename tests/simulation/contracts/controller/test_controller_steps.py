"""What contracts say of a controller whose events end in what must never be."""

from __future__ import annotations

from typing import Final

import pytest

from controller.core.effects import Answer, Effect, Send
from controller.core.events import RequestArrived, Tick
from controller.core.machine import Machine
from controller.core.phases import PartitionPhase, ReplicaPhase
from protocol.ids import NO_LEADER, TopicPartition
from protocol.messages.journal import JournalReport
from simulation.contracts.contract import Contract, Contracts
from simulation.contracts.controller import (
    controller_steps,
    first_hearing,
    reassignments,
    topic_lives,
)
from tests.simulation.contracts.controller.controlled import isr_wish, led
from tests.simulation.contracts.controller.stepping import Spoil, Twist, revised, told

T0: Final = TopicPartition("t", 0)


def leaderless(machine: Machine) -> None:
    revised(leader=-1)(machine)
    machine.run.set_phase(T0, PartitionPhase.OFFLINE)


def all_in_sync_and_moving(machine: Machine) -> None:
    revised(adding_replicas=(3,), isr=(1, 2, 3))(machine)
    machine.state.reassigning[T0] = None


def waits_for_nobody(machine: Machine) -> None:
    revised(isr=(), leader=NO_LEADER)(machine)
    machine.run.awaits_logs = True
    machine.run.have_told.update(dict.fromkeys(machine.state.brokers))


def forgotten_topic_id(machine: Machine) -> None:
    machine.state.topic_names.clear()


def forgotten_host(machine: Machine) -> None:
    machine.state.hosted.pop(2)


def offline_phase(machine: Machine) -> None:
    machine.run.set_phase(T0, PartitionPhase.OFFLINE)


def lost_phase(machine: Machine) -> None:
    machine.run.set_replica_phase(T0, 2, ReplicaPhase.NON_EXISTENT)


def all_deleted(machine: Machine) -> None:
    machine.state.topics["t"].is_deleting = True
    for tp in machine.state.topics["t"].keys:
        for each in (1, 2, 3):
            machine.run.set_replica_phase(tp, each, ReplicaPhase.DELETION_SUCCESSFUL)


def nothing_begun(machine: Machine) -> None:
    machine.state.topics["t"].is_deleting = True


def empty_entry(machine: Machine) -> None:
    machine.state.offline[1] = {}


def higher_number(machine: Machine) -> None:
    machine.state.journal_number += 1


def given_ids(machine: Machine) -> None:
    end = machine.state.next_producer_id + 1
    machine.run.reports[1] = JournalReport(producer_ids_end=end)


def later_epoch(machine: Machine) -> None:
    known = machine.state
    epoch = known.controller_epoch + 1
    machine.run.reports[1] = JournalReport(journal_id=known.journal_id, controller_epoch=epoch)


SPOILED: Final[list[tuple[Contract, Spoil]]] = [
    (controller_steps.recorded, revised(leader_epoch=9)),
    (controller_steps.recorded, higher_number),
    (controller_steps.recorded, empty_entry),
    (controller_steps.epochs_rise, revised(leader_epoch=-1)),
    (controller_steps.epochs_rise, revised(leader=3)),
    (controller_steps.epochs_rise, revised(controller_epoch=0)),
    (controller_steps.leaderships, revised(isr=())),
    (controller_steps.leaderships, revised(isr=(), leader=NO_LEADER)),
    (controller_steps.leaderships, waits_for_nobody),
    (controller_steps.leaderships, revised(isr=(1, 9))),
    (controller_steps.leaderships, revised(leader=3, isr=(1, 2))),
    (controller_steps.leaderships, revised(adding_replicas=(9,))),
    (controller_steps.somebody_leads, leaderless),
    (controller_steps.phases_fit, offline_phase),
    (controller_steps.phases_fit, lost_phase),
    (first_hearing.goes_on_above, given_ids),
    (first_hearing.goes_on_above, later_epoch),
    (reassignments.what_is_complete_is_ended, all_in_sync_and_moving),
    (reassignments.what_is_complete_is_ended, revised(removing_replicas=(3,))),
    (topic_lives.ids_are_theirs, forgotten_topic_id),
    (topic_lives.ids_are_theirs, forgotten_host),
    (topic_lives.deletions, all_deleted),
    (topic_lives.deletions, nothing_begun),
]


def unanswered(effects: list[Effect]) -> list[Effect]:
    return [each for each in effects if not isinstance(each, Answer)]


def twice_answered(effects: list[Effect]) -> list[Effect]:
    return effects + [each for each in effects if isinstance(each, Answer)]


def sent_backwards(effects: list[Effect]) -> list[Effect]:
    sent = [each for each in effects if isinstance(each, Send)]
    return [*reversed(sent), *sent]


TWISTED: Final[list[tuple[Contract, Twist]]] = [
    (controller_steps.answered, twice_answered),
    (controller_steps.sent, sent_backwards),
    (controller_steps.answered, unanswered),
]


@pytest.mark.parametrize(("contract", "spoil"), SPOILED)
def test_what_must_never_be_is_told(contract: Contract, spoil: Spoil) -> None:
    assert told(contract) == []
    assert told(contract, spoil=spoil)


@pytest.mark.parametrize(("contract", "twist"), TWISTED)
def test_what_is_sent_and_answered_wrongly_is_told(contract: Contract, twist: Twist) -> None:
    assert told(contract, twist=twist)


@pytest.mark.parametrize("is_renewed", [True, False])
def test_a_tick_after_which_the_next_is_due_at_once_is_told(is_renewed: bool) -> None:
    cluster = led([1, 2, 3])
    right = Machine.next_deadline_ms

    def at_once(_: Machine) -> int:
        return cluster.now_ms

    setattr(Machine, "next_deadline_ms", right if is_renewed else at_once)  # noqa: B010
    try:
        with Contracts([controller_steps.ticked], now_us=lambda: 0) as contracts:
            cluster.machine.step(Tick(cluster.now_ms), cluster.now_ms)
            cluster.machine.step(RequestArrived(99, isr_wish(cluster, "t-0", 1), 3), cluster.now_ms)
    finally:
        setattr(Machine, "next_deadline_ms", right)  # noqa: B010
    assert bool(contracts.found) is not is_renewed
