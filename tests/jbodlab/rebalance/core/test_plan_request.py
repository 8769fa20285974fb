from __future__ import annotations

import pytest

from jbodlab.rebalance.core.plan_request import Goal, PlanRequest, weight
from tests.jbodlab.rebalance.situations import at, partition


@pytest.mark.parametrize(
    ("goal", "expected"), [(Goal.BYTES, 70), (Goal.PARTITIONS, 1), (Goal.RATE, 2.5)]
)
def test_a_replica_weighs_what_the_goal_counts(goal: Goal, expected: float) -> None:
    each = partition(0, [at(1, 1)], 70, rate=2.5)
    assert weight(goal, each, each.replicas[0]) == expected


def test_draining_a_broker_drains_all_it_has() -> None:
    request = PlanRequest(drained=frozenset({at(1, 2)}), drained_brokers=frozenset({3}))
    assert request.is_drain
    assert [request.drains(each) for each in (at(1, 1), at(1, 2), at(3, 7))] == [False, True, True]
    assert not PlanRequest().is_drain
