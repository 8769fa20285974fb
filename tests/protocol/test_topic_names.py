"""Names of topics."""

from __future__ import annotations

import pytest

from protocol.topic_names import topic_name_problem


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "x" * 249, "...", "__consumer_offsets"])
def test_kafkas_legal_names_have_no_problem(name: str) -> None:
    assert topic_name_problem(name) == ""


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "the empty string is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, f"the length of '{'x' * 250}' is longer than the max allowed length 249"),
        (
            "a b",
            "'a b' contains one or more characters other than "
            "ASCII alphanumerics, '.', '_' and '-'",
        ),
    ],
)
def test_other_names_have_kafkas_words(name: str, problem: str) -> None:
    assert topic_name_problem(name) == problem
