"""A note is made where a mutant would have another value; code does what it did without notes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import pytest

from tests.mutation_testing.notes import DIFFERS, RAN, with_notes

GATE = '''"""A module."""


class Gate:
    """A class."""

    def let_in(self, visitors, most=3):
        """Return whether it did."""
        if len(visitors) >= most and self.is_open:
            return False
        elif self.asked() or not self.is_open:
            return False
        visitors[most + 1] = None
        for each in self.asked():
            visitors.append(each)
        return [each for each in visitors if each] if (some := self.asked()) else some


def kind_of(kind):
    match kind:
        case 1 if kind > 0:
            return [1]
        case _:
            return max(kind, 2)
'''


def noted(spot: str) -> str:
    """Return the line with the note of a value, or the one behind the note of a statement."""
    tree = with_notes(GATE, [spot])
    compile(tree, "gate.py", "exec")
    lines = [line.strip() for line in ast.unparse(tree).splitlines()]
    [place] = [number for number, line in enumerate(lines) if repr(spot) in line]
    if lines[place] == f"{RAN}({spot!r})":
        return lines[place + 1]
    return lines[place].replace(f"{DIFFERS}({spot!r}", "NOTE(SPOT")


@pytest.mark.parametrize(
    ("line", "before"),
    [
        (9, "if len("),
        (11, "if self.asked("),
        (13, "visitors[most"),
        (21, "match"),
        (22, "return [1]"),
    ],
)
def test_a_statement_is_the_innermost_around_a_line(line: int, before: str) -> None:
    assert noted(str(line)).startswith(before)


def test_a_line_without_a_statement_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="no statement is in line 3"):
        with_notes(GATE, ["3"])


@pytest.mark.parametrize(
    ("spot", "note"),
    [
        (
            "9 ReplaceComparisonOperator_GtE_Gt 0",
            "if NOTE(SPOT, len(visitors) >= most and self.is_open,"
            " lambda: len(visitors) > most and self.is_open, True):",
        ),
        (
            "9 ConditionNeverHolds 0",
            "if NOTE(SPOT, len(visitors) >= most and self.is_open, lambda: False, True):",
        ),
        (
            "11 ConditionAlwaysHolds 1",
            "elif NOTE(SPOT, self.asked() or not self.is_open, lambda: True, True):",
        ),
        ("13 NumberReplacer 2", "visitors[NOTE(SPOT, most + 1, lambda: most + 2, False)] = None"),
        ("24 NumberReplacer 10", "return NOTE(SPOT, max(kind, 2), lambda: max(kind, 3), False)"),
    ],
)
def test_an_expression_is_looked_at_as_far_as_it_has_no_effect(spot: str, note: str) -> None:
    assert noted(spot) == note


def test_a_condition_with_an_effect_is_looked_at_once() -> None:
    note = "if NOTE(SPOT, (some := self.asked()), lambda: True, True) else some"

    assert noted("16 ConditionAlwaysHolds 2").endswith(note)


@pytest.mark.parametrize(
    ("spot", "before"),
    [
        ("11 ReplaceOrWithAnd 0", "if self.asked() or not self.is_open:"),
        ("13 DropEffect 0", "visitors[most + 1] = None"),
        ("14 ZeroIterationForLoop 0", "visitors.append(each)"),
        ("21 NumberReplacer 4", "match kind:"),
    ],
)
def test_other_mutants_are_noted_where_their_statement_runs(spot: str, before: str) -> None:
    assert noted(spot) == before


def test_notes_around_each_other_are_all_made() -> None:
    spots = ["9", "9 ReplaceComparisonOperator_GtE_Gt 0", "9 ReplaceComparisonOperator_GtE_Lt 0"]
    made: list[str] = []

    def compare(spot: str, value: object, mutant: Callable[[], object], is_truth: bool) -> Any:
        assert is_truth
        made.append(f"{spot} {value} {mutant()}")
        return value

    names: dict[str, Any] = {RAN: made.append, DIFFERS: compare}
    exec(compile(with_notes(GATE, spots), "gate.py", "exec"), names)
    gate = names["Gate"]()
    gate.is_open = True

    assert not gate.let_in([1, 2, 3])
    assert made == ["9", f"{spots[1]} True False", f"{spots[2]} True False"]
