# Operators of cosmic-ray have no types.
# pyright: basic
"""The two operators of our own do what their examples say."""

from __future__ import annotations

from typing import Any

import pytest
from cosmic_ray.mutating import mutate_code

from tests.mutation_testing.operators import OPERATORS

EXAMPLES = [
    pytest.param(operator, example, id=f"{name} {number}")
    for name, operator in OPERATORS.items()
    for number, example in enumerate(operator.examples())
]


@pytest.mark.parametrize(("operator", "example"), EXAMPLES)
def test_an_operator_does_what_its_example_says(operator: Any, example: Any) -> None:
    mutated = mutate_code(example.pre_mutation_code, operator(), example.occurrence)

    assert mutated == example.post_mutation_code


@pytest.mark.parametrize(
    "code", ["a = b\n", "a: int = b\n", "'docstring'\n", "return a\n", "if True:\n    return a\n"]
)
def test_what_neither_has_an_effect_nor_decides_is_left_alone(code: str) -> None:
    own = ("ConditionAlwaysHolds", "ConditionNeverHolds", "DropEffect")

    assert [mutate_code(code, OPERATORS[name](), 0) for name in own] == [None, None, None]


def test_each_branch_of_a_chain_is_a_condition() -> None:
    code = "if a:\n    b()\nelif c:\n    d()\n"
    mutated = mutate_code(code, OPERATORS["ConditionNeverHolds"](), 1)

    assert mutated == "if a:\n    b()\nelif False:\n    d()\n"
