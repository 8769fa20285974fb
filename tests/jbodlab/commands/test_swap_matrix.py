"""``jbodlab swap-matrix``."""

from __future__ import annotations

import json

from jbodlab.errors import ExitCode
from tests.jbodlab.command_line import jbodlab


def test_the_table_has_a_row_per_story_and_kind_and_their_sum() -> None:
    result = jbodlab("swap-matrix", "--story", "create", "--crash", "kill")
    assert result.exit_code == ExitCode.OK
    rows = [line.split("│")[1:-1] for line in result.stdout.splitlines() if "│" in line]
    cells = [[cell.strip() for cell in row] for row in rows]
    assert cells[0][:2] == ["create", "kill -9"]
    assert int(cells[0][2]) > 10
    assert cells[0][3:] == ["0", "0", "0"]
    assert cells[-1][0] == "all"


def test_as_json() -> None:
    result = jbodlab("swap-matrix", "--story", "create", "--crash", "power_cut", "--json")
    (row,) = json.loads(result.stdout)
    assert (row["story"], row["crash"], row["lost"], row["complaints"]) == (
        "create",
        "power_cut",
        0,
        [],
    )


def test_an_unknown_story_is_a_mistake_that_names_those_there_are() -> None:
    result = jbodlab("swap-matrix", "--story", "nope")
    assert result.exit_code == ExitCode.USAGE
    assert "'nope' is none of create, move" in result.stderr
