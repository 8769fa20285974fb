"""``make test``: lanes, checks beside them; one that fails fails the whole and is seen last."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.lanes import LANES, Lane, LaneScheduling, lane_of

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
    assert f"\nLANES := {len(LANES)}\n" in (ROOT / "Makefile").read_text()


def test_java_has_a_lane_and_so_have_all_others() -> None:
    assert lane_of("tests/kafka_tools/test_topics.py::test_x[3.9.2]") == "java"
    assert lane_of("tests/integration/test_apache_kafka.py::test_x") == "java"
    assert lane_of("tests/analytics/test_job.py::test_x") == "java"
    assert lane_of("tests/integration/test_sweep.py::test_x").startswith("rest-")
    assert lane_of("tests/test_lanes.py::test_x").startswith("rest-")


def test_every_file_is_in_one_of_the_lanes_that_workers_have() -> None:
    files = [str(each.relative_to(ROOT)) for each in (ROOT / "tests").rglob("test_*.py")]
    assert {lane_of(file) for file in files} == set(LANES)


def test_what_takes_turns_is_collected_by_one_worker() -> None:
    lanes: dict[str, set[str]] = defaultdict(set)
    for file in (ROOT / "tests").rglob("*.py"):
        name = str(file.relative_to(ROOT))
        for group in re.findall(r'(?:sampled_among\(|together=)"?([^",)]+)', file.read_text()):
            lanes[group].add("java" if name == "tests/kafka_tools/conftest.py" else lane_of(name))
    assert len(lanes) >= 3
    assert {group: names for group, names in lanes.items() if len(names) > 1} == {}


@pytest.mark.parametrize(
    ("lane", "path", "left_out"),
    [
        ("java", "tests", None),
        ("java", "tests/kafka_tools", None),
        ("java", "tests/kafka_tools/test_topics.py", None),
        ("java", "tests/integration/test_demo.py", True),
        ("java", "tests/protocol", True),
        ("clusters-1", "tests/integration", None),
        ("clusters-0", "tests/integration/test_demo.py", None),
        ("clusters-1", "tests/integration/test_demo.py", True),
        ("rest-0", "tests/kafka_tools", True),
    ],
)
def test_a_worker_collects_nothing_of_other_lanes(
    lane: str, path: str, left_out: bool | None, request: pytest.FixtureRequest
) -> None:
    assert Lane([lane]).pytest_ignore_collect(ROOT / path, request.config) is left_out


class Worker:
    """Takes note of what it is told."""

    def __init__(self, collects: Sequence[str]) -> None:
        self.workerinput: dict[str, Any] = {}
        self.collects = collects
        self.told: list[str] = []

    def send_runtest_some(self, indices: Sequence[int]) -> None:
        self.told += [self.collects[index] for index in indices]

    def shutdown(self) -> None:
        self.told.append("end")


def begin(scheduling: LaneScheduling, worker: Any) -> None:
    """Start a worker, and let it collect."""
    scheduling.pytest_configure_node(worker)
    scheduling.add_node(worker)
    scheduling.add_node_collection(worker, worker.collects)


def end(scheduling: LaneScheduling, worker: Any, error: str | None = None) -> str | None:
    """Let a worker end, with an error if it crashes; return the test at which it did."""
    scheduling.pytest_testnodedown(worker, error)
    return scheduling.remove_node(worker)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6])
def test_workers_share_all_lanes_and_no_lane_is_two_workers(count: int) -> None:
    scheduling = LaneScheduling(count)
    workers = [Worker([]) for _ in range(count)]
    for worker in workers:
        begin(scheduling, worker)
    assert sorted(lane for each in workers for lane in each.workerinput["lanes"]) == list(LANES)


def test_each_worker_runs_what_it_collected_and_ends() -> None:
    scheduling = LaneScheduling(2)
    one, two = Worker(["a", "b"]), Worker(["c"])
    begin(scheduling, one)
    assert not scheduling.collection_is_completed
    begin(scheduling, two)
    assert scheduling.collection_is_completed
    scheduling.schedule()
    assert (one.told, two.told) == (["a", "b", "end"], ["c", "end"])
    nodes: list[Any] = [one, one, two]
    for node, index in zip(nodes, (0, 1, 0), strict=True):
        assert not scheduling.tests_finished
        scheduling.mark_test_complete(node, index)
    assert scheduling.tests_finished
    assert (end(scheduling, one), end(scheduling, two), scheduling.nodes) == (None, None, [])
    assert scheduling.tests_finished


@pytest.mark.parametrize(("run", "crashed_at", "left"), [(0, "a", ["b", "c"]), (2, "c", [])])
def test_in_place_of_a_worker_that_crashed_another_runs_what_is_left(
    run: int, crashed_at: str, left: list[str]
) -> None:
    scheduling = LaneScheduling(2)
    other: Any = Worker([])
    crashing: Any = Worker(["a", "b", "c"])
    begin(scheduling, other)
    begin(scheduling, crashing)
    scheduling.schedule()
    assert end(scheduling, other) is None
    for index in range(run):
        scheduling.mark_test_complete(crashing, index)
    assert end(scheduling, crashing, "crash") == crashed_at
    assert scheduling.tests_finished is (left == [])
    another: Any = Worker(crashing.collects)
    begin(scheduling, another)
    assert another.workerinput == crashing.workerinput
    scheduling.schedule()
    assert another.told == [*left, "end"]
    assert other.told == ["end"]


def test_a_worker_that_crashes_as_it_collects_is_replaced() -> None:
    scheduling = LaneScheduling(1)
    crashing: Any = Worker(["a", "b"])
    another: Any = Worker(["a", "b"])
    scheduling.pytest_configure_node(crashing)
    scheduling.add_node(crashing)
    assert end(scheduling, crashing, "crash") is None
    begin(scheduling, another)
    scheduling.schedule()
    assert another.told == ["a", "b", "end"]
