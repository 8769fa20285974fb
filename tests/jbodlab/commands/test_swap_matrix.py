"""``jbodlab swap-matrix``."""

from __future__ import annotations

import json

from jbodlab.errors import ExitCode
from tests.jbodlab.command_line import jbodlab


def test_the_table_has_a_row_per_story_and_kind_and_their_sum() -> None:
    result = jbodlab("swap-matrix", "--story", "create", "--node", "broker-1", "--crash", "kill")
    assert result.exit_code == ExitCode.OK
    rows = [line.split("│")[1:-1] for line in result.stdout.splitlines() if "│" in line]
    cells = [[cell.strip() for cell in row] for row in rows]
    assert cells[0][:3] == ["create", "broker-1", "kill -9"]
    assert int(cells[0][3]) > 10
    assert cells[0][4:] == ["0", "0", "0"]
    assert cells[-1][0] == "all"


def test_as_json() -> None:
    result = jbodlab("swap-matrix", "--story", "start", "--crash", "power_cut", "--json")
    (row,) = json.loads(result.stdout)
    recovered = row.pop("recovered")
    assert recovered > 3
    assert row == {
        "story": "start",
        "node": "controller",
        "crash": "power_cut",
        "offline": 0,
        "refused": 0,
        "lost": 0,
        "complaints": [],
    }


def test_an_unknown_story_is_a_mistake_that_names_those_there_are() -> None:
    result = jbodlab("swap-matrix", "--story", "nope")
    assert result.exit_code == ExitCode.USAGE
    assert "'nope' is none of create, move" in result.stderr


def test_a_node_that_crashes_in_none_of_the_stories_is_a_mistake() -> None:
    result = jbodlab("swap-matrix", "--story", "start", "--node", "broker-2")
    assert result.exit_code == ExitCode.USAGE
    assert "broker-2: crashes in none of start" in result.stderr
    assert "'broker-9' is none of" in jbodlab("swap-matrix", "--node", "broker-9").stderr
