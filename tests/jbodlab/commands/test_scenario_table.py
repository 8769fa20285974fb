"""Scenarios one after the other, and the table of what came."""

from __future__ import annotations

import json

import pytest

from jbodlab.commands.scenario_table import AS_IT_MUST_BE, NOT_THERE, WRONG, run_table, show_rows
from jbodlab.errors import ExitCode, LabError
from simulation.core.checkers.evidence import Violation
from simulation.core.checkers.reach import Check, Reach
from simulation.core.plan import WORLDS, Plan, World
from simulation.core.verdict import Verdict

PLANS = (
    Plan(name="well", shows="X."),
    Plan(name="kept", shows="X.", worlds=("simulated",), because="Only there."),
    Plan(name="broken", shows="X."),
    Plan(name="fails", shows="X."),
)


def run(plan: Plan, world: World) -> Verdict:
    if plan.name == "fails":
        raise LabError(ExitCode.FAILED, f"no cluster in the {world} world")
    found = (Violation("bounds", 0, "too much"),) if plan.name == "broken" else ()
    return Verdict(
        plan=plan.name,
        violations=found,
        story=(),
        lasted_ms=1,
        checks=(Check("bounds", Reach.CHECKED), Check("answers", Reach.IN_PART, ("connections",))),
    )


def test_one_that_fails_ends_only_itself() -> None:
    rows = run_table(PLANS, WORLDS, run)

    assert [(row.name, row.world, row.outcome, row.is_ok) for row in rows] == [
        ("well", "simulated", AS_IT_MUST_BE, True),
        ("well", "real", AS_IT_MUST_BE, True),
        ("kept", "simulated", AS_IT_MUST_BE, True),
        ("kept", "real", NOT_THERE, True),
        ("broken", "simulated", WRONG, False),
        ("broken", "real", WRONG, False),
        ("fails", "simulated", WRONG, False),
        ("fails", "real", WRONG, False),
    ]
    assert [row.why for row in rows[3::2]] == [
        ("Only there.",),
        ("0.000000 s: bounds: too much",),
        ("no cluster in the real world",),
    ]
    assert rows[0].not_seen == ("answers (without connections)",)


def test_rows_are_a_table_with_a_sum_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    rows = run_table(PLANS, ("simulated",), run)
    capsys.readouterr()

    show_rows(rows, is_json=False)
    text = capsys.readouterr().out
    assert "0.000000 s: bounds: too much" in text
    assert text.splitlines()[-1] == "2 as it must be, 0 not there, 2 WRONG"

    show_rows(rows, is_json=True)
    told = json.loads(capsys.readouterr().out)
    assert [(row["name"], row["is_ok"]) for row in told] == [
        ("well", True),
        ("kept", True),
        ("broken", False),
        ("fails", False),
    ]
    assert told[0]["not_seen"] == ["answers (without connections)"]
