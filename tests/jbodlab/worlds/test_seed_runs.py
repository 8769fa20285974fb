"""What is run for the command line, and which files it leaves."""

from __future__ import annotations

import gc
import logging
import subprocess
from pathlib import Path

import pytest

from broker.world import World
from jbodlab.errors import ExitCode, LabError
from jbodlab.worlds.seed_runs import Request, add_all, commit, reduce_run, run_one, run_quietly
from simulation.core.checkers.evidence import Violation
from simulation.core.plan import Plan
from simulation.core.plan_document import parse_plan
from simulation.core.verdict import Verdict
from simulation.simulated_run import SimulatedRun, plan_of_seed, simulate
from simulation.tally import Tally

COORDINATORS_SEED = 1
WRONG = """
name: wrong
shows: What never is.
cluster: {topics: [{name: orders}]}
steps:
  - wait: 1s
  - expect: {leader_epoch: {of: orders-0, is: 99}}
"""


def test_a_request_says_how_it_is_run_again() -> None:
    assert (
        Request(seeds=range(1, 9), seconds=5).replay(7) == "jbodlab simulate --seed 7 --seconds 5"
    )
    assert Request(scenario="a.yaml").replay(0) == "jbodlab simulate --scenario a.yaml --seed 0"


def test_a_scenario_that_is_not_there_is_told() -> None:
    with pytest.raises(LabError) as caught:
        Request(scenario="nowhere.yaml").plan()
    assert caught.value.exit_code is ExitCode.BAD_CONFIG


def test_a_seed_runs_the_same_with_and_without_a_log(tmp_path: Path) -> None:
    plan = plan_of_seed(3, 1)
    request = Request(seed=3, seconds=1, log_file=tmp_path / "nodes.log")
    lines: list[str] = []
    logged = run_one(request, plan, lambda line: lines.append(str(line)))
    assert logged.trace_hash == run_quietly(1, 3).trace_hash
    assert lines == [str(line) for line in logged.verdict.story]
    assert " broker-1 " in (tmp_path / "nodes.log").read_text()
    assert logging.getLogger("broker").propagate


def nodes_left() -> int:
    gc.collect()
    return sum(type(each) is World for each in gc.get_objects())


def test_a_run_leaves_nothing_of_its_nodes_behind() -> None:
    """Promises kept what led back to coordinators: a sweep grew by 1.6 MB with each seed."""
    before = nodes_left()
    run_quietly(2, COORDINATORS_SEED)
    assert nodes_left() <= before


def failing(seed: int) -> SimulatedRun:
    found = (Violation("acks", 5, "lost"),) if seed % 2 else ()
    verdict = Verdict(plan="p", violations=found, story=(), lasted_ms=1)
    return SimulatedRun(seed=seed, verdict=verdict, trace_hash="", steps=1, virtual_ms=1)


@pytest.mark.parametrize(("keep_going", "ran"), [(False, [2, 3]), (True, [2, 3, 4, 5])])
def test_a_sweep_ends_at_the_first_violation_unless_it_is_to_keep_going(
    *, keep_going: bool, ran: list[int]
) -> None:
    tally = Tally()
    told: list[int] = []
    failed = add_all(
        tally, map(failing, range(2, 6)), lambda run: told.append(run.seed), keep_going=keep_going
    )
    assert told == ran
    assert [run.seed for run in failed] == [seed for seed in ran if seed % 2]
    assert list(tally.failed) == [run.seed for run in failed]


def test_what_fails_is_reduced_and_written(tmp_path: Path) -> None:
    plan = parse_plan(WRONG, source="wrong")
    failed = simulate(plan, 1)
    tried: list[Plan] = []
    scenario, test = reduce_run(plan, failed, tmp_path / "small", tried.append)
    small = parse_plan(scenario.read_text(), source="small")
    assert len(small.steps) == 1
    assert tried
    assert not simulate(small, 1).verdict.is_ok
    assert "seed=1" in test.read_text()


def test_the_commit_is_that_of_the_code() -> None:
    found = commit()
    assert found is None or len(found) == 12


def test_a_repository_that_does_not_hold_the_code_is_not_its(tmp_path: Path) -> None:
    (tmp_path / "own.py").touch()
    (tmp_path / "installed.py").touch()
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x"]
    for words in (["init", "-q"], ["add", "own.py"], ["commit", "-q", "-m", "own"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    assert len(commit(tmp_path / "own.py") or "") == 12
    assert commit(tmp_path / "installed.py") is None
