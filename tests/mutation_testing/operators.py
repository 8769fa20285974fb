# Trees of parso and operators of cosmic-ray have no types.
# pyright: basic
"""Which bugs are planted: operators of cosmic-ray, and two more in its form. They plant nothing.

Its operators replace comparisons, numbers, ``and``, ``or``, ``not``, booleans, plus and minus. What
it lacks is a condition that always or never holds, and an effect that does not happen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import parso
from cosmic_ray.operators.operator import Example, Operator
from cosmic_ray.operators.provider import OperatorProvider

Position = tuple[tuple[int, int], tuple[int, int]]
"""Begin and end, each a line from 1 and a column from 0."""

_CONDITIONS: Final = {"if_stmt": ("if", "elif"), "while_stmt": ("while",), "comp_if": ("if",)}
_STATES: Final = ("trailer", "atom_expr", "power")


class _ReplaceCondition(Operator):
    """Puts a value in the place of conditions."""

    value: str

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        for number in _conditions(node):
            condition = node.children[number]
            if condition.get_code().strip() not in ("True", "False", "TYPE_CHECKING"):
                yield condition.start_pos, condition.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        node.children[_conditions(node)[index]] = parso.parse(f" {self.value}")
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (
            Example("if a:\n    b()\n", f"if {cls.value}:\n    b()\n"),
            Example("x = 1 if a else 2\n", f"x = 1 if {cls.value} else 2\n"),
            Example("x = [y for y in z if y]\n", f"x = [y for y in z if {cls.value}]\n"),
        )


class ConditionAlwaysHolds(_ReplaceCondition):
    """Makes a condition true."""

    value = "True"


class ConditionNeverHolds(_ReplaceCondition):
    """Makes a condition false."""

    value = "False"


class DropEffect(Operator):
    """Drops a statement that changes state or has an effect: a call, an assignment to a part."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        if node.type == "simple_stmt" and _is_effect(node.children[0]):
            statement = node.children[0]
            yield statement.start_pos, statement.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        assert index == 0, f"{index}: there is one effect in a statement"
        prefix = node.children[0].get_first_leaf().prefix
        node.children[0] = parso.parse(f"{prefix}pass")
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (
            Example("a.b(c)\n", "pass\n"),
            Example("a.b = c\n", "pass\n"),
            Example("a[b] += c\n", "pass\n"),
            Example("del a[b]\n", "pass\n"),
        )


def _conditions(node: Any) -> list[int]:
    """Return which children of a node are conditions."""
    if node.type in ("test", "ternary"):
        return [2]
    words = _CONDITIONS.get(node.type, ())
    return [
        number + 1
        for number, child in enumerate(getattr(node, "children", ()))
        if child.type == "keyword" and child.value in words
    ]


def _is_effect(statement: Any) -> bool:
    if statement.type in ("del_stmt", "yield_expr", "atom_expr"):
        return True
    if statement.type != "expr_stmt":
        return False
    target, operator = statement.children[0], statement.children[1]
    is_added = operator.type == "operator" and operator.value not in ("=", ":=")
    return is_added or target.type in _STATES


def _chosen() -> dict[str, type[Any]]:
    names = [
        *(f"ReplaceComparisonOperator_{pair}" for pair in ("Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt")),
        *(f"ReplaceComparisonOperator_{pair}" for pair in ("Lt_GtE", "LtE_Gt", "Gt_LtE", "GtE_Lt")),
        *(f"ReplaceComparisonOperator_{pair}" for pair in ("Eq_NotEq", "NotEq_Eq")),
        *(f"ReplaceComparisonOperator_{pair}" for pair in ("Is_IsNot", "IsNot_Is")),
        *(f"ReplaceBinaryOperator_{pair}" for pair in ("Add_Sub", "Sub_Add")),
        *("ReplaceAndWithOr", "ReplaceOrWithAnd", "ReplaceUnaryOperator_Delete_Not"),
        *("ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "NumberReplacer"),
        *("ZeroIterationForLoop", "ReplaceContinueWithBreak", "ReplaceBreakWithContinue"),
    ]
    provider = OperatorProvider()
    own = (ConditionAlwaysHolds, ConditionNeverHolds, DropEffect)
    return {name: provider[name] for name in names} | {each.__name__: each for each in own}


OPERATORS: Final[Mapping[str, type[Any]]] = _chosen()
"""By name. A comparison becomes its neighbour and its contrary, never anything else."""
