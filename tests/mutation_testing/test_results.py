"""A run goes on where it ended, and its rates say what fell to what."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.mutation_testing.results import Result, Results, rates, survivors
from tests.mutation_testing.test_judging import MUTANT

PLAIN = Result(id=MUTANT.id, digest=MUTANT.digest)
SURVIVED = replace(PLAIN, met={"seeds": 3}, cpu_s={"seeds": 60.0})
FALLEN = replace(
    SURVIVED, met={"seeds": 3, "scenarios": 1}, fell_to="scenarios", by="story", found=["lost"]
)


def test_a_mutant_that_nobody_judged_has_met_nothing(tmp_path: Path) -> None:
    assert Results(tmp_path / "results.jsonl").of(MUTANT) == PLAIN


def test_the_last_result_of_a_mutant_is_found_again(tmp_path: Path) -> None:
    file = tmp_path / "build" / "results.jsonl"
    results = Results(file)
    results.keep(SURVIVED)
    results.keep(FALLEN)

    assert Results(file).of(MUTANT) == FALLEN == results.of(MUTANT)


def test_a_result_of_other_code_counts_for_nothing(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    Results(file).keep(FALLEN)
    other = replace(MUTANT, digest="1")

    assert Results(file).of(other) == Result(id=MUTANT.id, digest="1")


def test_rates_leave_out_what_is_equivalent() -> None:
    results = [
        replace(FALLEN, id="a", fell_to="seeds"),
        replace(FALLEN, id="b", fell_to="seeds"),
        replace(FALLEN, id="c"),
        replace(SURVIVED, id="d"),
        replace(SURVIVED, id="e"),
    ]
    counted = rates(results, {"e": "a proof"})

    assert counted.content() == {
        "planted": 5,
        "equivalent": 1,
        "waiting": 1,
        "fell_to": {"seeds": 2, "scenarios": 1, "own_tests": 0, "tests": 0},
        "seeds_percent": 50.0,
        "seeds_or_scenarios_percent": 75.0,
        "any_percent": 75.0,
    }
    assert "50.0 % to seeds, 75.0 % to seeds or scenarios" in counted.text()


def test_survivors_are_told_by_rule_with_what_reached_them() -> None:
    other = replace(MUTANT, id="broker/core/isr.py:shrink:DropEffect:2", line=9)
    fate = "reached by 3 seeds, 1 scenarios | fell to story"
    seen = replace(MUTANT, id="broker/core/isr.py:shrink:DropEffect:3")
    pairs = [
        (MUTANT, SURVIVED),
        (other, FALLEN),
        (seen, replace(FALLEN, fell_to="seeds")),
        (replace(MUTANT, id="same"), replace(SURVIVED, id="same")),
    ]

    assert survivors(pairs, {"same": "a proof"}) == {
        "broker/core/isr.py:shrink": [
            "7: DropEffect:1: kept.append(member) | reached by 3 seeds | SURVIVES",
            f"9: DropEffect:2: kept.append(member) | {fate}",
        ]
    }
