"""Every test expects something, and what its name counts is what it checks."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final, TypeAlias

import pytest

TESTS: Final = Path(__file__).parent
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

PARTS: Final = ("body", "orelse", "finalbody", "handlers", "cases")
"""Of a statement: other statements."""
EXPECTING: Final = (
    "alike",
    "assert",
    "check",
    "expect",
    "fail",
    "raises",
    "RaisesGroup",
    "same",
    "until",
    "warns",
)
"""A call whose name is one of these, or begins so, ends a test that finds otherwise."""
RELEASE: Final = re.compile(r"(?:kafka|ip)_\d+(?:_\d+)*|\d+(?:_\d+)+")
"""Numbers in a test's name that are the name of something."""
SAID_OTHERWISE: Final = {
    "test_fetch_up_to_version_5_reads_a_storage_error_as_a_lost_leader": "six versions from 0 on",
    "test_format_0_has_the_wrong_checksum_of_its_time": "the one called old",
    "test_only_logs_that_do_not_start_at_0_have_their_start_offset_written": "what is left out",
    "test_the_clock_counts_milliseconds_since_1970": "the other clock counts so, too",
    "test_numbers_have_at_most_32_bits": "the number behind the largest one",
}
"""Names whose numbers stand in the test in other words."""


def functions(tree: ast.Module) -> Iterator[Function]:
    """Return all of them. Only statements are looked at: no expression holds a function."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, Function):
            yield node
        for part in PARTS:
            left += getattr(node, part, ())


def calls(function: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            yield node


def expects(function: ast.AST) -> bool:
    """Tell whether it fails when something is not as expected, by itself."""
    return any(
        isinstance(node, ast.Assert) or (isinstance(node, ast.Call) and is_expectation(node))
        for node in ast.walk(function)
    )


def is_expectation(call: ast.Call) -> bool:
    function = call.func
    if not isinstance(function, ast.Attribute | ast.Name):
        return False  # What was looked up or made by a call has no name.
    name = function.attr if isinstance(function, ast.Attribute) else function.id
    name = name.lstrip("_")
    if name == "run":  # Of a process, whose code asserts.
        return any(keyword.arg == "check" for keyword in call.keywords)
    return any(name == word or name.startswith(f"{word}_") for word in EXPECTING)


def named(function: ast.AST) -> set[str]:
    """Return the functions that it calls by their plain names, or hands over to be called."""
    found: set[str] = set()
    for call in calls(function):
        given = [call.func, *call.args, *(keyword.value for keyword in call.keywords)]
        found |= {each.id for each in given if isinstance(each, ast.Name)}
    return found


def expecting_helpers(trees: list[ast.Module]) -> set[str]:
    """Return the names of functions that expect something, by themselves or by what they call."""
    helpers = [one for tree in trees for one in functions(tree) if not is_test(one)]
    found = {one.name for one in helpers if expects(one)}
    while more := {one.name for one in helpers if one.name not in found and named(one) & found}:
        found |= more
    return found


def is_test(function: Function) -> bool:
    return function.name.startswith("test_")


def without_expectation(trees: dict[str, ast.Module]) -> list[str]:
    helpers = expecting_helpers(list(trees.values()))
    return [
        f"{name}:{test.lineno} {test.name}"
        for name, tree in trees.items()
        for test in functions(tree)
        if is_test(test) and not expects(test) and not named(test) & helpers
    ]


def unchecked_numbers(tree: ast.Module) -> list[str]:
    """Return the tests with a number in their name that stands nowhere else in them."""
    return [
        f"{test.name}: {number}"
        for test in functions(tree)
        if is_test(test) and test.name not in SAID_OTHERWISE
        for number in re.findall(r"(?<=_)\d+(?=_|$)", RELEASE.sub("", test.name))
        if number not in constants(test)
    ]


def constants(test: Function) -> set[str]:
    """Return the numbers that stand in a test and its decorators, those in texts as well."""
    found: set[str] = set()
    for node in ast.walk(test):
        if isinstance(node, ast.Constant) and not isinstance(node.value, bool):
            found |= set(re.findall(r"\d+", str(node.value)))
    return found


@pytest.fixture(scope="module")
def trees() -> Generator[dict[str, ast.Module]]:
    """All test files, parsed. A fixture, since every worker of a run imports this module."""
    gc.disable()  # Looking at half a million nodes again and again finds no garbage.
    try:
        yield {
            str(path.relative_to(TESTS)): ast.parse(path.read_text(encoding="utf-8"))
            for path in sorted(TESTS.rglob("*.py"))
        }
    finally:
        gc.enable()


def test_every_test_expects_something(trees: dict[str, ast.Module]) -> None:
    assert without_expectation(trees) == []


def test_numbers_in_names_are_those_that_are_checked(trees: dict[str, ast.Module]) -> None:
    assert [found for tree in trees.values() for found in unchecked_numbers(tree)] == []


def test_the_list_of_numbers_in_other_words_is_not_stale(trees: dict[str, ast.Module]) -> None:
    names = {test.name for tree in trees.values() for test in functions(tree)}
    assert [name for name in SAID_OTHERWISE if name not in names] == []


@pytest.mark.parametrize(
    ("body", "is_found"),
    [
        ("run()", True),
        ("lab.open()", True),
        ("assert run() == 1", False),
        ("with pytest.raises(ValueError): run()", False),
        ("with pytest.RaisesGroup(ValueError): run()", False),
        ("check_name('a')", False),
        ("await lab.until(done)", False),
        ("expecting()", False),
        ("run_world(1, through)", False),
        ("subprocess.run(command, check=True)", False),
        ("subprocess.run(command)", True),
    ],
)
def test_a_test_that_cannot_fail_is_found(body: str, *, is_found: bool) -> None:
    text = f"""
def expecting():
    assert True
async def through():
    expecting()
async def test_it():
    {body}
"""
    assert bool(without_expectation({"it": ast.parse(text)})) is is_found


def test_a_name_that_tells_another_number_than_its_test_is_found() -> None:
    text = """
def test_it_ends_with_1(): assert run() == 12
def test_it_ends_with_12(): assert run() == 12
def test_of_kafka_3_9(): assert run() == 0
"""
    assert unchecked_numbers(ast.parse(text)) == ["test_it_ends_with_1: 1"]
