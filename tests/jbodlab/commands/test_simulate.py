"""``jbodlab simulate`` as people use it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from jbodlab.cli import main
from jbodlab.errors import ExitCode
from simulation.core.plan_document import parse_plan
from simulation.simulated_run import plan_of_seed
from tests.deadlines import DEADLINE_S

SEED = 3
SHORT = ("--seconds", "1")
IMPOSSIBLE = """
name: impossible
shows: What never is.
workloads: [{name: load, topic: orders}]
cluster: {topics: [{name: orders}, {name: spare}]}
steps:
  - wait: 1s
  - wait: 2s
  - kill: 3
  - expect: {leader_epoch: {of: orders-0, is: 99}}
"""


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["simulate", *words], catch_exceptions=False)


def test_a_seed_tells_its_story_and_the_verdict() -> None:
    result = run("--seed", str(SEED), *SHORT)
    assert result.exit_code == 0
    assert f"seed-{SEED}: as it must be" in result.stdout
    assert f"seed {SEED}, trace " in result.stdout
    assert "replay needs: commit " in result.stdout
    assert run("--seed", str(SEED), *SHORT).stdout == result.stdout


def test_the_resolved_plan_runs_again_to_the_same_trace(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    drawn = json.loads(run("--seed", str(SEED), *SHORT, "--plan", str(plan), "--json").stdout)
    assert parse_plan(plan.read_text(), source="plan") == plan_of_seed(SEED, 1)
    written = json.loads(run("--scenario", str(plan), "--seed", str(SEED), "--json").stdout)
    assert written["trace_hash"] == drawn["trace_hash"]


def test_ctrl_c_ends_a_sweep_and_tells_what_ran_by_then() -> None:
    terminal, stderr = os.openpty()  # Only a terminal is shown how many ran.
    words = ("--seeds", "1..100000", "--keep-going", *SHORT, "--json")
    with subprocess.Popen(
        [sys.executable, "-m", "jbodlab", "simulate", *words],
        stdout=subprocess.PIPE,
        stderr=stderr,
        start_new_session=True,
    ) as process:
        os.close(stderr)
        shown = b""
        while not re.search(rb"\b[1-9]\d*/100000", shown):
            shown += os.read(terminal, 4096)
        os.killpg(process.pid, signal.SIGINT)
        told, _ = process.communicate(timeout=DEADLINE_S)
    os.close(terminal)
    assert process.returncode == ExitCode.INTERRUPTED
    assert json.loads(told)["seeds"] >= 1


def test_history_rows_and_logs_are_written(tmp_path: Path) -> None:
    history, log, dump = tmp_path / "h.edn", tmp_path / "nodes.log", tmp_path / "rows"
    result = run(
        *("--seed", str(SEED), *SHORT, "--history", str(history)),
        *("--keep-log", str(log), "--dump", str(dump)),
    )
    assert result.exit_code == 0
    assert ":type :ok" in history.read_text()
    assert "broker-1" in log.read_text()
    assert [path for path in dump.rglob("*.jsonl") if path.stat().st_size]


def test_a_violation_is_told_reduced_and_ends_with_12(tmp_path: Path) -> None:
    scenario = tmp_path / "impossible.yaml"
    scenario.write_text(IMPOSSIBLE)
    result = run("--scenario", str(scenario), "--reduce", str(tmp_path / "small"))
    assert result.exit_code == ExitCode.VIOLATION == 12
    assert "violation(s)" in result.stderr
    assert f"again: jbodlab simulate --scenario {scenario} --seed 0" in result.stderr
    small = parse_plan((tmp_path / "small" / "impossible-reduced.yaml").read_text(), source="small")
    assert len(small.steps) == 1
    assert small.workloads == ()
    assert (tmp_path / "small" / "test_impossible_reduced.py").exists()


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--seeds", "5..1"),
        ("--seeds", "1-5"),
        ("--seeds", "1..2", "--seed", "1"),
        ("--seed", "-1"),
        ("--seed", "1", "--keep-going"),
        ("--seeds", "1..2", "--keep-going", "--reduce", "r"),
    ],
)
def test_what_makes_no_sense_is_refused(words: tuple[str, ...]) -> None:
    assert run(*words).exit_code == 2


@pytest.mark.parametrize(
    "words",
    [
        ("--rules",),
        ("--jobs", "2"),
        ("--keep-going",),
        ("--plan", "p"),
        ("--history", "h"),
        ("--dump", "d"),
        ("--keep-log", "l"),
        ("--reduce", "r"),
    ],
)
def test_what_sparks_tasks_do_not_do_is_refused(words: tuple[str, ...]) -> None:
    result = run("--seeds", "1..2", "--spark", "local[1]", "--out", "o", *words)
    assert result.exit_code == ExitCode.USAGE
    assert f"Spark's tasks know nothing of {words[0]}: leave --spark out" in result.stderr
