"""Rules, their outcomes, and the marks at them."""

from __future__ import annotations

import textwrap
from typing import Any

from simulation.core.rules import MARK, RuleOutcome, outcomes_of, watched

SOURCE = textwrap.dedent(
    '''
    from __future__ import annotations

    class Door:
        def knob(self) -> int:
            """Say what others do."""
            ...

    def sign(number):
        """Tell it."""
        if number < 0:
            return "minus"
        return "plus" if number else "none"

    def kinds(values):
        while True:
            break
        def inner(value):
            match value:
                case int():
                    return "int"
                case _:
                    raise AssertionError(value)
        return [inner(each) for each in values if each is not None]

    def tried(text):
        try:
            return int(text)
        except ValueError:
            return None
    '''
)


def told() -> list[tuple[str, str, str]]:
    return [(one.rule, one.what, one.how) for one in outcomes_of("m", SOURCE)]


def reached(call: str) -> list[str]:
    """Return what a call goes through."""
    outcomes = outcomes_of("m", SOURCE)
    seen = bytearray(len(outcomes) + 5)

    def mark(index: int, value: Any) -> Any:
        seen[index + bool(value)] = 1
        return value

    names: dict[str, Any] = {MARK: mark}
    exec(compile(watched("m", SOURCE, 5), "m", "exec"), names)
    eval(call, names)
    return [f"{one.what} {one.how}" for one, flag in zip(outcomes, seen[5:], strict=True) if flag]


def test_a_rule_has_an_outcome_for_each_way_through_it() -> None:
    assert told() == [
        ("m.sign", "sign", "is entered"),
        ("m.sign", "number < 0", "does not hold"),
        ("m.sign", "number < 0", "holds"),
        ("m.sign", "number", "does not hold"),
        ("m.sign", "number", "holds"),
        ("m.kinds", "kinds", "is entered"),
        ("m.kinds", "each is not None", "does not hold"),
        ("m.kinds", "each is not None", "holds"),
        ("m.kinds.inner", "inner", "is entered"),
        ("m.kinds.inner", "case int()", "is taken"),
        ("m.tried", "tried", "is entered"),
        ("m.tried", "except ValueError", "is taken"),
    ]


def test_marks_tell_which_way_a_call_went() -> None:
    assert reached("sign(-1)") == ["sign is entered", "number < 0 holds"]
    assert reached("sign(0)") == [
        "sign is entered",
        "number < 0 does not hold",
        "number does not hold",
    ]
    assert reached("kinds([1])") == [
        "kinds is entered",
        "each is not None holds",
        "inner is entered",
        "case int() is taken",
    ]
    assert reached("tried('x')") == ["tried is entered", "except ValueError is taken"]


def test_an_outcome_says_where_it_is() -> None:
    outcome = RuleOutcome("m.sign", 11, "number < 0", "holds")
    assert str(outcome) == "line 11: number < 0 holds"
