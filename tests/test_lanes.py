"""``make test``: lanes, checks beside them; one that fails fails the whole and is seen last."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.lanes import LANES, lane_of

ROOT = Path(__file__).parents[1]
TOOLS = ("ruff", "basedpyright", "lint-imports", "pytest")


def make_test(venv: Path, broken: str = "") -> tuple[int, str]:
    """Run ``make test`` with tools that say their name; return its code and what it printed."""
    (venv / "bin").mkdir()
    for tool in TOOLS:
        script = venv / "bin" / tool
        script.write_text(f"#!/bin/sh\necho {tool} has run\nexit {int(tool == broken)}\n")
        script.chmod(0o755)
    (venv / ".installed").touch()
    result = subprocess.run(
        ["make", "test", f"VENV={venv}"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return result.returncode, result.stdout


def test_everything_runs_once_and_is_seen(tmp_path: Path) -> None:
    code, printed = make_test(tmp_path)
    assert code == 0
    assert printed.count("basedpyright has run") == 1
    assert printed.count("lint-imports has run") == 1
    assert printed.count("pytest has run") == 1


@pytest.mark.parametrize("broken", TOOLS)
def test_one_that_fails_fails_the_whole_and_is_seen_last(tmp_path: Path, broken: str) -> None:
    code, printed = make_test(tmp_path, broken)
    assert code != 0
    said = [line for line in printed.splitlines() if line.endswith("has run")]
    assert said[-1] == f"{broken} has run"


@pytest.mark.parametrize(
    ("lane", "pattern"), [("clusters", "integration/test_*.py"), ("rest", "broker/**/test_*.py")]
)
def test_clusters_and_the_rest_have_two_lanes_each_and_a_file_is_in_one(
    lane: str, pattern: str
) -> None:
    files = [str(each.relative_to(ROOT)) for each in (ROOT / "tests").glob(pattern)]
    lanes = Counter(lane_of(f"{file}::test_x") for file in files)
    assert abs(lanes[f"{lane}-0"] - lanes[f"{lane}-1"]) < len(files) / 4
    for file in files:
        assert lane_of(f"{file}::test_x") == lane_of(f"{file}::test_y[1]")


def test_make_starts_a_worker_for_each_lane() -> None:
    assert f"\nLANES := {LANES}\n" in (ROOT / "Makefile").read_text()


def test_java_has_a_lane_and_so_have_all_others() -> None:
    assert lane_of("tests/kafka_tools/test_topics.py::test_x[3.9.2]") == "java"
    assert lane_of("tests/integration/test_apache_kafka.py::test_x") == "java"
    assert lane_of("tests/analytics/test_job.py::test_x") == "java"
    assert lane_of("tests/integration/test_sweep.py::test_x").startswith("rest-")
    assert lane_of("tests/test_lanes.py::test_x").startswith("rest-")
