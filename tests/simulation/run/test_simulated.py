from __future__ import annotations

from simulation.core.plan import ClusterPlan
from simulation.run.simulated import simulated_spec
from tests.simulation.run.played import play

STEPS = "- kill: leader of a-0\n- until: {led: a-0}"
LOAD = "workloads: [{name: load, topic: a}]"


def test_the_spec_of_a_plan_is_the_same_in_every_world() -> None:
    spec = simulated_spec(ClusterPlan(brokers=2))

    assert spec.controller.port == 9000
    assert spec.broker(2).log_dirs[1].path == "/world/data/b2/d2"
    assert simulated_spec(ClusterPlan(brokers=2)) == spec


def test_one_seed_is_one_story() -> None:
    first = play(STEPS, brokers=3, rest=LOAD, seed=5)

    assert play(STEPS, brokers=3, rest=LOAD, seed=5) == first
