"""Half of the clusters are held against Kafka's answers, as those were that were recorded."""

from __future__ import annotations

from random import Random

from protocol.configs.authorizer import STANDARD_AUTHORIZER
from simulation.core.draw_examined import AUTHORIZER
from simulation.core.draw_judged import CASES, CONFIGS, judged
from simulation.core.plan import ClusterPlan, Plan

PLAN = Plan(name="a", shows="A.", cluster=ClusterPlan(configs={"num.partitions": "2"}))


def test_some_are_judged_and_have_what_answers_hang_on() -> None:
    plans = [judged(Random(seed), PLAN) for seed in range(100)]
    asked = [plan for plan in plans if plan.ending.judged_cases]
    assert 30 < len(asked) < 70
    assert all(plan.ending.judged_cases == CASES for plan in asked)
    assert all(plan.cluster.configs == {"num.partitions": "2", **CONFIGS} for plan in asked)
    assert all(plan == PLAN for plan in plans if plan not in asked)


def test_none_is_judged_that_has_an_authorizer_for_apache_kafka_had_none() -> None:
    authorized = Plan(
        name="a", shows="A.", cluster=ClusterPlan(configs={AUTHORIZER: STANDARD_AUTHORIZER})
    )
    assert all(judged(Random(seed), authorized) == authorized for seed in range(100))
