"""What contracts say of wrong rules about reassignments."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, Final

import pytest

from controller.core import reassignment, throttles
from controller.core.alter_configs import change_broker_configs, change_topic_configs
from controller.core.alter_reassignments import (
    alter_partition_reassignments,
    list_partition_reassignments,
)
from controller.core.phases import ReplicaPhase
from controller.core.reassignment_rules import Assignment
from controller.core.replica_moves import Replica, move_replicas
from controller.core.step import Step
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.reassignments import ListPartitionReassignmentsRequest
from tests.controller.core.cluster import Cluster, tp
from tests.controller.core.reassigning import wish
from tests.simulation.contracts.controller.controlled import (
    Act,
    Case,
    Wrong,
    asked,
    isr_wish,
    led,
    misanswer,
    spoiled,
    tells,
)
from tests.simulation.contracts.wrong_rules import answers

LISTS: Final = {
    "leader.replication.throttled.replicas": "0:1,0:2",
    "follower.replication.throttled.replicas": "0:3",
}


def two_replicas(request: Any, version: int) -> Callable[[], Act]:
    return asked(request, version, [1, 2], [2, 1])


def under_way(request: Any, version: int) -> Callable[[], Act]:
    def prepare() -> Act:
        cluster = led([1, 2], [2, 1])
        cluster.call(wish(("t-0", [1, 3])), 1)
        return lambda: cluster.call(request, version)

    return prepare


def one_joins() -> Act:
    cluster = led([1, 2], [2, 1])
    cluster.call(wish(("t-0", [1, 3])), 1)
    return lambda: cluster.call(isr_wish(cluster, "t-0", 1, 2, 3), 3)


def the_leader_leaves() -> Act:
    cluster = led([1, 2], [2, 1])
    cluster.call(wish(("t-0", [2, 3])), 1)
    return lambda: cluster.call(isr_wish(cluster, "t-0", 1, 2, 3), 3)


def throttled() -> Act:
    cluster = led([1, 2], [2, 1])
    step = _step(cluster)
    change_topic_configs(step, "t", dict(LISTS))
    change_broker_configs(step, "3", {"follower.replication.throttled.rate": "1000"})
    wanted = {tp("t-0"): Assignment((1, 3, 2), (3,), (2,))}
    return lambda: throttles.claim(_step(cluster), wanted)


def _step(cluster: Cluster) -> Step:
    return Step(cluster.state, cluster.machine.run, cluster.config, Random(0), cluster.now_ms)


def always_refuses(*_: object, **__: object) -> None:
    raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "no")


def stops_leaders_first(right: Wrong, step: Step, tps: Sequence[TopicPartition]) -> None:
    led_by = [Replica(each, step.state.partition(each).leader) for each in tps]
    move_replicas(step, led_by, ReplicaPhase.OFFLINE)
    right(step, tps)


def forgets_what_was_sent(step: Step) -> None:
    step.run.asked_before_removal.clear()


def goes_back(step: Step) -> None:
    partitions = step.state.topics["t"].partitions
    partitions[0] = replace(partitions[0], replicas=(1, 2), adding_replicas=())


STOP = partial(stops_leaders_first, reassignment._complete)
REMOVE = spoiled(reassignment._remove, forgets_what_was_sent)
TARGET, CANCEL = "reassignment_rules.check_target", "reassignment_rules.check_cancel"
COMPLETE, WAY = "reassignment_rules.is_complete", "reassignment_rules.reassigned"
ALTER = "alter_reassignments.alter_partition_reassignments"
LIST = "alter_reassignments.list_partition_reassignments"
MOVE: Final = two_replicas(wish(("t-0", [1, 3])), 1)
LISTED: Final = under_way(ListPartitionReassignmentsRequest(topics=None), 0)
CASES: Final[list[Case]] = [
    (WAY, answers(Assignment((1, 3), (3,), ())), MOVE),
    (WAY, answers(Assignment((2, 1, 3), (3,), (2,))), MOVE),
    ("reassignment_rules.reverted", answers(Assignment((1,))), under_way(wish(("t-0", None)), 1)),
    (COMPLETE, answers(True), MOVE),
    (COMPLETE, answers(False), one_joins),
    (TARGET, answers(Assignment((1, 2))), two_replicas(wish(("t-0", [1, 9])), 1)),
    (TARGET, answers(Assignment((1, 2))), two_replicas(wish(("t-0", [])), 1)),
    (TARGET, always_refuses, MOVE),
    (CANCEL, answers(Assignment((1, 2))), two_replicas(wish(("t-0", None)), 1)),
    (CANCEL, always_refuses, under_way(wish(("t-0", None)), 1)),
    ("reassignment._complete", STOP, the_leader_leaves),
    ("reassignment._remove", REMOVE, one_joins),
    ("reassignment.reassign", answers(None), MOVE),
    ("reassignment.reassign", spoiled(reassignment.reassign, goes_back), MOVE),
    (ALTER, spoiled(alter_partition_reassignments, misanswer(responses=[])), MOVE),
    (LIST, spoiled(list_partition_reassignments, misanswer(topics=[])), LISTED),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_wrong_rule_is_told_and_the_right_one_is_not(case: Case) -> None:
    tells(case)
