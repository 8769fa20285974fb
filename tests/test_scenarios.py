"""The catalogues of scenarios and of Kafka's bugs, and the listing of what is shown."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from jbodlab.worlds.scenario_files import load_plan, shipped_files
from tests.scenarios import (
    CATALOGUE,
    Coverage,
    read_bug_reasons,
    read_bugs,
    read_reasons,
    read_table,
    read_titles,
)

TESTS = Path(__file__).parent


@cache
def marked(marker: str) -> dict[int | str, str]:
    found: dict[int | str, str] = {}
    for file in sorted(TESTS.rglob("test_*.py")):
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text if f"mark.{marker}" in text else "")):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(f"mark.{marker}"):
                numbers = [arg for arg in node.args if not isinstance(arg, ast.Starred)]
                found.update({ast.literal_eval(arg): file.name for arg in numbers})
    if marker == "scenario":
        for file in shipped_files():
            found.update(dict.fromkeys(load_plan(str(file)).scenarios, file.name))
    return found


def test_the_catalogue_numbers_its_scenarios_without_a_gap() -> None:
    assert list(read_titles(CATALOGUE.read_text(encoding="utf-8"))) == list(range(1, 273))


def test_every_marked_number_is_in_the_catalogue() -> None:
    titles = read_titles(CATALOGUE.read_text(encoding="utf-8"))
    shown = marked("scenario")
    assert {number: file for number, file in shown.items() if number not in titles} == {}


def test_no_scenario_is_both_shown_and_excused() -> None:
    shown = marked("scenario")
    assert [number for number in read_reasons() if number in shown] == []


def test_reasons_are_in_order_and_of_scenarios_that_exist() -> None:
    titles = read_titles(CATALOGUE.read_text(encoding="utf-8"))
    reasons = list(read_reasons())
    assert reasons == sorted(number for number in reasons if number in titles)


def test_every_scenario_but_those_of_kraft_is_shown_or_excused() -> None:
    shown, reasons = marked("scenario"), read_reasons()
    numbers = [*range(1, 223), *range(241, 253)]
    assert [number for number in numbers if number not in shown and number not in reasons] == []


def test_every_marked_bug_is_in_the_table() -> None:
    bugs = read_bugs()
    assert {name: file for name, file in marked("kafka_bug").items() if name not in bugs} == {}


def test_no_bug_is_both_shown_and_excused() -> None:
    shown, bugs = marked("kafka_bug"), read_bugs()
    assert [name for name in read_bug_reasons() if name in shown or name not in bugs] == []


def test_every_bug_is_shown_not_to_be_here_or_excused() -> None:
    shown, reasons = marked("kafka_bug"), read_bug_reasons()
    assert [name for name in read_bugs() if name not in shown and name not in reasons] == []


def test_the_listing_names_tests_and_reasons_and_counts() -> None:
    coverage = Coverage(
        {1: "One", 2: "Two", 13: "Three"},
        {13: "it cannot be"},
        {2: ["tests/test_b.py::b", "tests/test_a.py::a"]},
    )
    assert coverage.lines() == [
        "  -    1  One",
        "shown  2  Two",
        "             tests/test_a.py::a",
        "             tests/test_b.py::b",
        "  n/a 13  Three",
        "             it cannot be",
    ]
    assert coverage.sum_line("scenarios") == (
        "1 of 3 scenarios are shown by a test, 1 cannot be, 1 are open"
    )


def test_a_table_is_found_by_its_head() -> None:
    text = "| a | b |\n|---|---|\n| 1 | one |\n\n| c | d |\n|---|---|\n| 2 | two |\n| 3 | three |\n"
    assert read_table(text, "| a | b |") == {"1": "one"}
    assert read_table(text, "| c | d |") == {"2": "two", "3": "three"}
