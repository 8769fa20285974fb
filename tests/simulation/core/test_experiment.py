"""Experiments: cells filled alike, a seed's plan always the same, mistakes all told."""

from __future__ import annotations

from collections import Counter

import pytest

from simulation.core.experiment import parse_experiment
from simulation.core.plan_document import PlanError
from simulation.simulated_run import draw_streams

TEXT = """
name: waits
asks: How long is it?
factors: {replicas: [2, 3], wait_ms: [100, 200, 300]}
draws: {before_ms: [0, 50]}
plan: |
  name: waits
  shows: Nothing.
  cluster:
    topics:
      - {name: orders, replication_factor: $replicas}
  steps:
    - wait: ${before_ms}ms
    - wait: ${wait_ms}ms
"""


def test_any_stretch_of_seeds_fills_all_cells_alike() -> None:
    experiment = parse_experiment(TEXT, source="waits", streams=draw_streams(0))
    assert experiment.cell_count == 6
    cells = Counter(str(experiment.cell(seed)) for seed in range(100, 112))
    assert list(cells.values()) == [2] * 6
    assert experiment.cell(6 * 50 + 4) == {"replicas": "3", "wait_ms": "200"}


def test_a_seed_has_the_factors_of_its_cell_and_draws_the_rest() -> None:
    experiment = parse_experiment(TEXT, source="waits", streams=draw_streams(0))
    plans = [experiment.plan(seed, draw_streams(seed)) for seed in (4, 4, 10, 16)]
    assert {plan.cluster.topics[0].replication_factor for plan in plans} == {3}
    assert plans[0] == plans[1]
    assert not all(plan == plans[0] for plan in plans)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("$replicas", "$copies", "no factor or draw for 'copies'"),
        ("[0, 50]", "[50, 0]", "draws: give each"),
        ("[2, 3]", "[]", "factors: give each"),
        ("asks:", "asked:", "asked: an experiment has no such key"),
        ("wait: $", "weight: $", "seed 0"),
        ("name: waits\nasks", "asks", "name: it is missing"),
    ],
)
def test_every_mistake_is_told(before: str, after: str, told: str) -> None:
    with pytest.raises(PlanError, match=told):
        parse_experiment(TEXT.replace(before, after, 1), source="waits", streams=draw_streams(0))
