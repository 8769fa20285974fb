"""Faults that met nothing stay until they have, where a plan gives them time."""

from __future__ import annotations

import pytest

from protocol.faults.model import DiskMode, Operation
from tests.simulation.run.played import found, play, story

PATIENT = "ending: {met_within: 1min}"
ALONE = [each for each in Operation if each not in {Operation.TRUNCATE, Operation.REMOVE}]


@pytest.mark.parametrize("operation", ALONE)
def test_a_rule_about_one_operation_meets_it_on_an_idle_disk(operation: Operation) -> None:
    verdict = play(
        f"- fault: {{id: f, broker: 1, log_dir: d2, mode: eio, operations: [{operation.value}]}}",
        rest=PATIENT,
    )

    assert found(verdict) == []
    assert verdict.fault_hits["f"] > 0


@pytest.mark.parametrize("mode", [each for each in DiskMode if each is not DiskMode.SLOW])
def test_a_fault_of_logs_meets_one_on_an_idle_disk(mode: DiskMode) -> None:
    verdict = play(
        f"- fault: {{id: f, broker: 1, log_dir: d2, mode: {mode.value}, files: [log], times: 1}}",
        rest=PATIENT,
    )

    assert found(verdict) == []
    assert verdict.fault_hits["f"] == 1


def test_brokers_that_do_not_speak_are_made_to() -> None:
    verdict = play(
        "- fault: {id: f, mode: loss, from: broker-2, to: broker-3, probability: 0.2}",
        rest=PATIENT,
        brokers=3,
    )

    assert found(verdict) == []
    assert verdict.fault_hits["f"] > 0


def test_all_else_is_repaired_meanwhile() -> None:
    verdict = play(
        """
        - fault: {id: met, broker: 1, log_dir: d1, mode: eio}
        - until: {log_dir: {broker: 1, log_dir: d1, state: offline}}
        - fault: {id: unmet, broker: 1, log_dir: d1, mode: eio, operations: [append]}
        - kill: 2
        """,
        brokers=2,
        rest=PATIENT,
    )

    assert found(verdict) == []
    told = story(verdict)
    assert "all ends but unmet, which met nothing yet" in told
    assert told.index("d1 of broker-1 is brought back") < told.index("faults end")


def test_what_meets_something_meanwhile_is_taken_off_as_others_may_wait_for_its_end() -> None:
    """Seed 690226: a broker was started every 100 ms and found its only log dir dead each time."""
    verdict = play(
        """
        - pause: 1
        - fault: {id: dead, broker: 1, mode: eio}
        - fault: {id: beside, broker: 1, mode: slow, delay_ms: 1, operations: [append]}
        """,
        rest=PATIENT,
    )

    assert found(verdict) == []
    assert min(verdict.fault_hits[name] for name in ("dead", "beside")) > 0


def test_a_fault_that_nothing_can_provoke_fails_the_run_and_says_what_to_do() -> None:
    verdict = play(
        "- fault: {id: f, broker: 1, log_dir: d1, mode: eio, name: no-such-file}",
        rest="ending: {met_within: 3s}",
    )

    assert found(verdict) == [
        "faults: the fault f never met anything: fault: {id: f, mode: eio, node: broker-1, "
        "log_dir: d1, name: no-such-file}; set it where work is done, narrow it less, "
        "or let it stay for longer"
    ]


def test_a_fault_that_chance_put_where_nothing_comes_is_counted_and_fails_nothing() -> None:
    verdict = play(
        "- fault: {id: f, broker: 1, log_dir: d1, mode: eio, name: no-such-file}",
        rest="ending: {met_within: 3s, empty_faults: count}",
    )

    assert found(verdict) == []
    assert verdict.empty_faults == ("f",)
    assert "never met anything: f" in story(verdict)


def test_a_step_that_may_fail_sets_a_fault_that_must_meet_something_all_the_same() -> None:
    verdict = play(
        "- {fault: {id: f, broker: 1, log_dir: d1, mode: eio, name: no-such}, may_fail: true}"
    )

    (told,) = found(verdict)
    assert told.startswith("faults: the fault f never met anything: ")


def test_a_fault_stays_until_it_has_met_something() -> None:
    verdict = play(
        """
        - fault: {id: f, broker: 1, log_dir: d1, mode: slow, delay_ms: 1, operations: [make_dir]}
        - clear: {fault: f, once_met: true}
        - wait: 5s
        - expect: {not: {fault_hits: f}}
        - create_topic: {name: b, partitions: 3}
        - until: {fault_hits: f}
        """,
    )

    assert found(verdict) == []
