"""What contracts say of failures that are not told, and of deletions that wait for nobody."""

from __future__ import annotations

import pytest

from controller.core.run_state import Probe
from controller.core.step import Step
from protocol.errors import ErrorCode
from tests.simulation.contracts.controller.controlled import (
    Act,
    Case,
    led,
    mute,
    spoiled,
    tells,
)
from tests.simulation.contracts.wrong_rules import answers

ANSWERED, DELETES = "failures.leader_and_isr_answered", "deletion._delete_replicas"


def a_log_dir_fails() -> Act:
    cluster = led()
    return lambda: cluster.fail_log_dir(1, 1, ["t-0"])


def a_topic_goes_without_broker_1() -> Act:
    cluster = led()
    cluster.expire(1)
    return lambda: cluster.delete("t")


def waits_still(step: Step) -> None:
    number = step.run.channels[1].answered
    step.run.probes.setdefault(1, []).append(Probe(number, ("f",)))


@pytest.mark.parametrize(
    "case",
    [
        (ANSWERED, spoiled(answers(None), mute), a_log_dir_fails),
        (ANSWERED, spoiled(answers(None), waits_still), a_log_dir_fails),
        (DELETES, answers(None), a_topic_goes_without_broker_1),
    ],
)
def test_who_is_away_is_told_of_and_waited_for(case: Case) -> None:
    tells(case)


def a_broker_refuses() -> Act:
    cluster = led()
    cluster.brokers[1].code = ErrorCode.STALE_BROKER_EPOCH
    return lambda: cluster.fail_log_dir(1, 1, ["t-0"])


def test_of_an_answer_that_refuses_all_no_failure_is_told() -> None:
    tells((ANSWERED, answers(None), a_broker_refuses))
