"""``jbodlab swap-matrix``."""

from __future__ import annotations

import json
from pathlib import Path

from jbodlab.errors import ExitCode
from tests.jbodlab.command_line import jbodlab

STORY = """
name: my-story
shows: A record is written.
crashes: [[2]]
cluster:
  topics: [{name: orders, assignment: [[1, 2, 3]]}]
workloads: [{name: writes, topic: orders, records_max: 1, begins: false}]
steps:
  - start_workload: writes
  - until: {count: {workload: writes, at_least: 1}}
"""


def test_the_table_has_a_row_per_story_and_kind_and_their_sum() -> None:
    result = jbodlab("swap-matrix", "create", "--node", "broker-1", "--crash", "kill")
    assert result.exit_code == ExitCode.OK
    rows = [line.split("│")[1:-1] for line in result.stdout.splitlines() if "│" in line]
    cells = [[cell.strip() for cell in row] for row in rows]
    assert cells[0][:3] == ["create", "broker-1", "kill -9"]
    assert int(cells[0][3]) > 10
    assert cells[0][4:] == ["0", "0", "0"]
    assert cells[-1][0] == "all"


def test_a_story_of_ones_own_as_json(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(STORY)
    result = jbodlab("swap-matrix", str(file), "--crash", "power_cut", "--json")
    (row,) = json.loads(result.stdout)
    recovered = row.pop("recovered")
    assert recovered > 0
    assert row == {
        "story": "my-story",
        "node": "broker-2",
        "crash": "power_cut",
        "offline": 0,
        "refused": 0,
        "lost": 0,
        "complaints": [],
    }


def test_a_story_that_goes_wrong_by_itself_is_no_matter_of_crashes(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"{STORY}  - expect: {{topic_exists: no-such}}\n")
    result = jbodlab("swap-matrix", str(file))
    assert result.exit_code == ExitCode.VIOLATION
    assert "my-story goes wrong before anything crashes" in result.stderr


def test_a_file_without_steps_or_of_real_processes_only_is_no_story(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(STORY[: STORY.index("steps:")])
    assert "a story needs steps" in jbodlab("swap-matrix", str(file)).stderr
    file.write_text(f"{STORY}worlds: [real]\n")
    assert "the matrix is simulated" in jbodlab("swap-matrix", str(file)).stderr


def test_an_unknown_story_is_a_mistake_that_names_those_there_are() -> None:
    result = jbodlab("swap-matrix", "nope")
    assert result.exit_code == ExitCode.BAD_CONFIG
    assert "no scenario is called nope: there are cancel, compact" in result.stderr


def test_a_node_that_crashes_in_none_of_the_stories_is_a_mistake() -> None:
    result = jbodlab("swap-matrix", "start", "--node", "broker-2")
    assert result.exit_code == ExitCode.USAGE
    assert "'broker-2' crashes in none of start; controller do" in result.stderr
