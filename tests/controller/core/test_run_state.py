"""Phases and the index of leaderless partitions stay in step."""

from __future__ import annotations

from controller.core.phases import PartitionPhase, ReplicaPhase
from controller.core.run_state import DELETED_TOPICS_KEPT_MAX, NOT_SENT, RunState
from tests.controller.core.cluster import tp

T0 = tp("t-0")


def test_leaderless_holds_what_is_new_or_offline() -> None:
    run = RunState()

    run.set_phase(T0, PartitionPhase.NEW)
    assert list(run.leaderless) == [T0]
    run.set_phase(T0, PartitionPhase.ONLINE)
    assert list(run.leaderless) == []
    run.set_phase(T0, PartitionPhase.OFFLINE)
    assert list(run.leaderless) == [T0]
    run.set_phase(T0, PartitionPhase.NON_EXISTENT)
    assert list(run.leaderless) == []
    assert run.partition_phases == {}


def test_a_controller_begins_by_listening() -> None:
    run = RunState()
    assert not run.hearing_is_over
    assert not run.awaits_logs
    assert not run.has_jumped
    assert not run.is_new_journal


def test_what_was_never_set_does_not_exist() -> None:
    run = RunState()

    assert run.phase_of(T0) is PartitionPhase.NON_EXISTENT
    assert run.replica_phase_of(T0, 1) is ReplicaPhase.NON_EXISTENT


def test_a_replica_that_is_gone_leaves_nothing_behind() -> None:
    run = RunState()
    run.set_replica_phase(T0, 1, ReplicaPhase.ONLINE)

    run.set_replica_phase(T0, 1, ReplicaPhase.NON_EXISTENT)
    run.set_replica_phase(T0, 2, ReplicaPhase.NON_EXISTENT)

    assert run.replica_phases == {}


def test_what_a_broker_answered_up_to_is_heard_and_what_was_not_sent_is_not() -> None:
    run = RunState()
    run.unheard_configs[1] = {"a": NOT_SENT, "b": 3, "c": 4, "d": 5}
    run.note_heard(1, 4)
    run.note_heard(2, 9)
    assert run.unheard_configs == {1: {"a": NOT_SENT, "d": 5}}


def test_an_answer_of_before_a_return_is_known_as_such() -> None:
    run = RunState()
    run.asked_before_return[1] = 4
    asked = [run.was_asked_before_return(1, sequence) for sequence in (3, 4, 5)]
    assert asked == [True, True, False]
    assert not run.was_asked_before_return(2, 1)


def test_only_the_last_deleted_topics_are_kept() -> None:
    run = RunState()

    for number in range(DELETED_TOPICS_KEPT_MAX + 1):
        run.note_deleted(number.to_bytes(16))

    assert len(run.deleted_topic_ids) == DELETED_TOPICS_KEPT_MAX
    assert (0).to_bytes(16) not in run.deleted_topic_ids
