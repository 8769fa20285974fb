"""What contracts say of wrong rules about throttles of reassignments."""

from __future__ import annotations

from random import Random
from typing import Final

import pytest

from controller.core import throttles
from controller.core.alter_configs import change_broker_configs, change_topic_configs
from controller.core.reassignment_rules import Assignment
from controller.core.step import Step
from tests.controller.core.cluster import Cluster, tp
from tests.simulation.contracts.controller.controlled import (
    Act,
    Case,
    led,
    tells,
)
from tests.simulation.contracts.wrong_rules import answers

LISTS: Final = {
    "leader.replication.throttled.replicas": "0:1,0:2",
    "follower.replication.throttled.replicas": "0:3",
}


def throttled() -> Act:
    cluster = led([1, 2], [2, 1])
    step = _step(cluster)
    change_topic_configs(step, "t", dict(LISTS))
    change_broker_configs(step, "3", {"follower.replication.throttled.rate": "1000"})
    wanted = {tp("t-0"): Assignment((1, 3, 2), (3,), (2,))}
    return lambda: throttles.claim(_step(cluster), wanted)


def throttled_and_over() -> Act:
    cluster = led([1, 2])
    step = _step(cluster)
    change_topic_configs(step, "t", dict(LISTS))
    cluster.state.throttled_topics["t"] = None
    return lambda: throttles.release_when_over(_step(cluster))


def _step(cluster: Cluster) -> Step:
    return Step(cluster.state, cluster.machine.run, cluster.config, Random(0), cluster.now_ms)


CLAIM, RELEASE = "throttles.claim", "throttles.release_when_over"
CASES: Final[list[Case]] = [
    (CLAIM, answers(None), throttled),
    (RELEASE, answers(None), throttled_and_over),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_wrong_rule_is_told_and_the_right_one_is_not(case: Case) -> None:
    tells(case)
