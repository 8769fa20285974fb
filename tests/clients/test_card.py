"""What programs tell, and what the report card makes of it."""

from __future__ import annotations

import pytest

from jbodlab.errors import ExitCode
from tests.clients.__main__ import NOT_RUN, exit_code
from tests.clients.card import page, rows
from tests.clients.results import Halfway, ItemResult, Outcome, Version, read_line

PASSED = Outcome("c", "1.0", "healthy", (ItemResult("produce", passed=True, told="9 records"),))
MISSED = Outcome("c", "1.0", "broken", (ItemResult("produce", passed=False, told="1 | lost"),))
NOT_THERE = Outcome("d", "", "healthy", (), not_run="no go")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"version": "1.0"}', Version("1.0")),
        ('{"halfway": "t", "group": "", "transactional_id": ""}', Halfway("t")),
        ('{"halfway": "t", "group": "g", "transactional_id": "i"}', Halfway("t", "g", "i")),
        ('{"item": "a", "ok": true, "told": "x"}', ItemResult("a", passed=True, told="x")),
    ],
)
def test_a_line_of_a_program_is_read(line: str, told: object) -> None:
    assert read_line(line) == told


def test_a_line_without_a_meaning_is_refused() -> None:
    with pytest.raises(ValueError, match="no meaning"):
        read_line('{"item": "a", "ok": "yes"}')


def test_the_page_has_a_row_per_item_and_the_reason_of_every_miss() -> None:
    worlds, meanings = ["healthy", "broken"], {"produce": "x", "other": "y"}
    found = rows([PASSED, MISSED, NOT_THERE], worlds, meanings)
    assert found == {
        "c": ["| c 1.0 | produce | passed | **missed**: 1 \\| lost |"],
        "d": ["| d | all | not run: no go |  |"],
    }
    lines = page([*found["c"], *found["d"]], worlds, meanings).splitlines()
    at = lines.index("| client | item | healthy | broken |")
    assert lines[at + 2 : at + 4] == [*found["c"], *found["d"]]
    assert lines[-1] == "| produce | x |"


def test_a_row_that_knew_fewer_worlds_is_filled() -> None:
    lines = ["| c 1.0 | produce | **missed**: 1 \\| lost |", "| d | all |  |  |"]
    written = page(lines, ["healthy", "broken"], {}).splitlines()
    at = written.index("|---|---|---|---|") + 1
    assert written[at : at + 2] == [
        "| c 1.0 | produce | **missed**: 1 \\| lost |  |",
        "| d | all |  |  |",
    ]


def test_counts_are_shown_of_suites_alone() -> None:
    assert rows([PASSED], ["healthy"], {}) == {"c": ["| c 1.0 | produce | 9 records |"]}


def test_the_exit_code_is_that_of_a_miss_even_where_something_was_not_run() -> None:
    assert exit_code([PASSED]) == ExitCode.OK
    assert exit_code([PASSED, NOT_THERE]) == NOT_RUN
    assert exit_code([NOT_THERE, MISSED, PASSED]) == ExitCode.VIOLATION


def test_a_program_that_told_nothing_has_not_passed() -> None:
    assert exit_code([Outcome("c", "1.0", "healthy", ())]) == ExitCode.VIOLATION
