"""What contracts say of wrong answers to those who ask for elections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest

from controller.core.effects import Answer
from controller.core.elect_leaders import elect_leaders
from controller.core.step import Step
from protocol.errors import ErrorCode
from protocol.messages.elections import ElectLeadersRequest, TopicPartitions
from tests.controller.core.cluster import Cluster
from tests.simulation.contracts.controller.controlled import Act, Case, led, spoiled, tells

RULE, PREFERRED, UNCLEAN = "elect_leaders.elect_leaders", 0, 1


def wish(kind: int, *, is_for_all: bool = False) -> ElectLeadersRequest:
    named = [TopicPartitions(topic="t", partitions=[0])]
    return ElectLeadersRequest(
        election_type=kind,
        topic_partitions=None if is_for_all else named,
        timeout_ms=1000,
    )


def moved() -> Cluster:
    """Return a cluster where the preferred leader is back, and another one leads."""
    cluster = led([1, 2])
    cluster.expire(1)
    cluster.start_broker(1)
    one = cluster.state.topics["t"].partitions[0]
    cluster.state.topics["t"].partitions[0] = replace(one, isr=(2, 1))
    return cluster


def the_preferred_one_is_asked_for() -> Act:
    cluster = moved()
    return lambda: cluster.call(wish(PREFERRED), 2)


def all_preferred_ones_are_asked_for() -> Act:
    cluster = moved()
    return lambda: cluster.call(wish(PREFERRED, is_for_all=True), 2)


def nothing_is_needed() -> Act:
    cluster = led([1, 2])
    return lambda: cluster.call(wish(PREFERRED), 2)


def a_loss_is_asked_for() -> Act:
    cluster = led([1, 2])
    cluster.expire(2)
    cluster.expire(1)
    cluster.start_broker(2)
    return lambda: cluster.call(wish(UNCLEAN), 2)


def says(code: ErrorCode | None) -> Callable[[Step], None]:
    """Return what gives each partition this code; None: names no partition at all."""

    def spoil(step: Step) -> None:
        for each in (*step.effects, *(held.done for held in step.run.waiting)):
            if isinstance(each, Answer):
                for topic in each.response.replica_election_results:
                    for entry in topic.partition_result:
                        entry.error_code = code
                if code is None:
                    each.response.replica_election_results = []

    return spoil


def leads_itself(step: Step) -> None:
    one = step.state.topics["t"].partitions[0]
    step.state.topics["t"].partitions[0] = replace(one, leader=2)


WRONG: Final = {
    "unavailable": spoiled(elect_leaders, says(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE)),
    "done": spoiled(elect_leaders, says(ErrorCode.NONE)),
    "unneeded": spoiled(elect_leaders, says(ErrorCode.ELECTION_NOT_NEEDED)),
    "silent": spoiled(elect_leaders, says(None)),
    "another": spoiled(elect_leaders, leads_itself),
}
CASES: Final[list[Case]] = [
    (RULE, WRONG["unavailable"], the_preferred_one_is_asked_for),
    (RULE, WRONG["unneeded"], the_preferred_one_is_asked_for),
    (RULE, WRONG["silent"], the_preferred_one_is_asked_for),
    (RULE, WRONG["another"], the_preferred_one_is_asked_for),
    (RULE, WRONG["unavailable"], all_preferred_ones_are_asked_for),
    (RULE, WRONG["done"], nothing_is_needed),
    (RULE, WRONG["unneeded"], a_loss_is_asked_for),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[2].__name__)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(case: Case) -> None:
    tells(case)
