"""Plans in the simulated world; in real processes: tests/integration/test_scenarios.py."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from jbodlab.errors import ExitCode, LabError
from jbodlab.worlds.scenario_files import load_plan, shipped_files
from jbodlab.worlds.scenario_runs import run_scenario
from simulation.core.coverage import DECLARED, RARE, Coverage
from simulation.core.plan import Plan
from simulation.core.plan_document import parse_plan
from simulation.core.verdict import StoryLine

SHORT = "name: x\nshows: X.\ncluster: {brokers: 1}\n"


def short(rest: str = "") -> Plan:
    return parse_plan(SHORT + rest, source="test")


PLANS = [load_plan(str(file)) for file in shipped_files()]
BUGS = [plan for plan in PLANS if plan.name.startswith("bug-")]
"""Each failed with seed 0, and with most others, before its bug was fixed."""
SHIPPED = [
    pytest.param(plan, id=plan.name, marks=pytest.mark.scenario(*plan.scenarios))
    for plan in PLANS
    if "simulated" in plan.worlds and plan not in BUGS
]


@pytest.mark.sampled_among("bugs of old, with a seed each", kept=10)
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("plan", BUGS, ids=lambda plan: plan.name)
def test_a_bug_of_old_does_not_come_back(plan: Plan, seed: int) -> None:
    run = run_scenario(plan, "simulated", seed)

    assert [str(violation) for violation in run.verdict.violations] == []


@pytest.mark.sampled("plan", kept=8)
@pytest.mark.parametrize("plan", SHIPPED)
def test_a_shipped_scenario_comes_out_as_it_must(plan: Plan) -> None:
    coverage = Coverage()

    run = run_scenario(plan, "simulated", 0)

    assert [str(violation) for violation in run.verdict.violations] == []
    coverage.add(run.transitions)
    promised = [one for one, rarity in RARE.items() if rarity.shown_by == plan.name]
    assert [str(one) for one in promised if one not in coverage.counts] == []
    assert coverage.undeclared == []


def test_what_shows_a_rare_transition_comes_with_jbodlab() -> None:
    """And each of them is run above, and goes through it."""
    runs = [None, *(plan.name for plan in PLANS if "simulated" in plan.worlds)]
    assert [each.shown_by for each in RARE.values() if each.shown_by not in runs] == []
    assert [str(one) for one in RARE if one not in DECLARED] == []


def test_the_story_is_told_while_it_happens() -> None:
    heard: list[StoryLine] = []

    verdict = run_scenario(short(), "simulated", 0, show=heard.append).verdict

    assert list(verdict.story) == heard


def test_an_error_that_a_node_logs_with_its_traceback_is_found() -> None:
    def show(_line: StoryLine) -> None:
        logging.getLogger("broker.engine").error("it went wrong", exc_info=ValueError("why"))

    run = run_scenario(short(), "simulated", 0, show=show)

    assert {each.checker for each in run.verdict.violations} == {"defects"}
    assert "logs it went wrong: ValueError('why')" in run.verdict.violations[0].text


def test_a_plan_for_one_world_is_refused_in_the_other() -> None:
    with pytest.raises(LabError, match="x does not run in a simulated world: Only there") as caught:
        run_scenario(short("worlds: [real]\nbecause: Only there."), "simulated", 0)
    assert caught.value.exit_code is ExitCode.USAGE


def test_what_real_processes_cannot_do_is_told_before_any_starts(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="not run in real processes: A real machine keeps its power"):
        run_scenario(short("steps: [{power_cut: 1}]"), "real", 0, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_kept_to_one_world_says_why() -> None:
    kept = [plan for plan in PLANS if len(plan.worlds) == 1]

    assert kept
    assert [plan.name for plan in kept if plan.because is None] == []
