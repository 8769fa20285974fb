"""The catalogue of scenarios and the listing of what is shown."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.scenarios import CATALOGUE, coverage_lines, read_titles

TESTS = Path(__file__).parent


def marked_numbers() -> dict[int, str]:
    found: dict[int, str] = {}
    for file in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.scenario"):
                found.update({int(ast.literal_eval(arg)): file.name for arg in node.args})
    return found


def test_the_catalogue_numbers_its_scenarios_without_a_gap() -> None:
    assert list(read_titles(CATALOGUE.read_text(encoding="utf-8"))) == list(range(1, 273))


def test_every_marked_number_is_in_the_catalogue() -> None:
    titles = read_titles(CATALOGUE.read_text(encoding="utf-8"))
    assert {number: file for number, file in marked_numbers().items() if number not in titles} == {}


def test_the_listing_names_tests_and_counts() -> None:
    lines = coverage_lines({1: "One", 2: "Two"}, {2: ["tests/test_b.py::b", "tests/test_a.py::a"]})
    assert lines == [
        "  -     1  One",
        "shown   2  Two",
        "             tests/test_a.py::a",
        "             tests/test_b.py::b",
        "1 of 2 scenarios are shown by a test",
    ]
