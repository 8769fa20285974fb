"""A failing plan as files for the repository."""

from __future__ import annotations

import ast

from simulation.core.checkers.evidence import Violation
from simulation.core.draw import draw_plan
from simulation.core.plan_document import parse_plan
from simulation.core.reproduction import reproduction
from tests.simulation.core.streams import streams_of

VIOLATIONS = [Violation("durability", 1_500_000, "orders-0 offset 7\nis lost")]


def test_the_scenario_file_holds_the_plan_and_what_was_found() -> None:
    plan = draw_plan(4, streams_of(4))
    files = reproduction(plan, 4, VIOLATIONS)
    found = parse_plan(files.plan, source="file")
    assert files.plan_name == "seed-4-reduced.yaml"
    assert (found.cluster, found.steps) == (plan.cluster, plan.steps)
    assert found.name == "seed-4-reduced"
    assert "# 1.500000 s: durability: orders-0 offset 7 is lost\n" in files.plan


def test_the_test_file_is_python_that_runs_the_scenario_in_the_same_world() -> None:
    files = reproduction(draw_plan(4, streams_of(4)), 4, VIOLATIONS)
    assert files.test_name == "test_seed_4_reduced.py"
    module = ast.parse(files.test)
    names = [node.name for node in module.body if isinstance(node, ast.FunctionDef)]
    assert names == ["test_seed_4_reduced_comes_out_as_it_must"]
    assert 'with_name("seed-4-reduced.yaml")' in files.test
    assert "seed=4" in files.test
