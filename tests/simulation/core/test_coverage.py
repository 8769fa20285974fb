"""Counting the moves of state machines."""

from __future__ import annotations

from broker.broker_state import BrokerState
from broker.core.future_log import Move, MoveEvent
from broker.core.log_dirs import LogDirStates
from controller.core.events import RequestArrived, Tick
from controller.core.phases import PartitionPhase, ReplicaPhase
from controller.core.run_state import RunState
from protocol.ids import TopicPartition
from protocol.messages.topics import CreateTopicsRequest
from simulation.core.coverage import DECLARED, Coverage, Transition, transition_of

T0 = TopicPartition("t", 0)


def test_moves_of_the_controller_are_counted_by_machine() -> None:
    coverage = Coverage()
    run = RunState(witness=coverage)
    run.set_phase(T0, PartitionPhase.NEW)
    run.set_phase(T0, PartitionPhase.ONLINE)
    run.set_replica_phase(T0, 1, ReplicaPhase.NEW)
    run.set_replica_phase(T0, 2, ReplicaPhase.NEW)
    assert coverage.counts == {
        Transition("PartitionPhase", "NON_EXISTENT", "NEW"): 1,
        Transition("PartitionPhase", "NEW", "ONLINE"): 1,
        Transition("ReplicaPhase", "NON_EXISTENT", "NEW"): 2,
    }


def test_a_move_of_a_replica_is_counted_by_state_and_event() -> None:
    coverage = Coverage()
    move = Move(T0, source_dir="/d1", target_dir="/d2", leader_epoch=1, fallback_offset=0)
    move.witness = coverage
    move.on(MoveEvent.TRUNCATED)
    move.on(MoveEvent.CANCEL)
    assert [str(one) for one in coverage.seen] == [
        "MoveState TRUNCATING -> TRUNCATED",
        "MoveState COPYING -> CANCEL",
    ]


def test_log_dirs_tell_failures_returns_and_cordons_once() -> None:
    coverage = Coverage()
    dirs = LogDirStates(["/d1", "/d2"], witness=coverage)
    dirs.cordon(["/d1"])
    dirs.cordon(["/d1"])
    dirs.fail("/d1")
    dirs.fail("/d1")
    dirs.revive("/d1")
    dirs.cordon([])
    assert [(one.before, one.after, count) for one, count in coverage.counts.items()] == [
        ("ONLINE", "CORDONED", 1),
        ("CORDONED", "OFFLINE", 1),
        ("OFFLINE", "CORDONED", 1),
        ("CORDONED", "ONLINE", 1),
    ]


def test_events_of_the_controller_are_named_by_their_request() -> None:
    assert transition_of(RequestArrived, CreateTopicsRequest) in DECLARED
    assert str(transition_of(Tick, Tick)) == "ControllerEvent Tick -> Tick"


def test_the_broker_states_declared_by_name_exist() -> None:
    names = [name for one in DECLARED if one.machine == "BrokerState" for name in one[1:]]
    assert set(names) == {state.name for state in BrokerState}


def test_what_was_never_seen_and_what_nobody_declared_are_told() -> None:
    coverage = Coverage()
    coverage(PartitionPhase.ONLINE, PartitionPhase.NEW)
    assert coverage.undeclared == [Transition("PartitionPhase", "ONLINE", "NEW")]
    assert coverage.never_seen == list(DECLARED)


def test_the_counts_of_several_runs_add_up() -> None:
    one = Transition("PartitionPhase", "NEW", "ONLINE")
    coverage = Coverage({one: 2})
    coverage.add({one: 3})
    assert coverage.counts == {one: 5}
    assert coverage.seen == [one]
