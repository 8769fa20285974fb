"""Which cases a mutant meets, and what it has fallen to: shown with cases that run nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.mutation_testing import judging
from tests.mutation_testing.judging import HANGS_S, Stage
from tests.mutation_testing.planting import Mutant
from tests.mutation_testing.reach import Case, own_tests

MUTANT = Mutant(
    id="broker/core/isr.py:shrink:DropEffect:1",
    path="broker/core/isr.py",
    operator="DropEffect",
    occurrence=0,
    rule="broker/core/isr.py:shrink",
    line=7,
    lines=range(7, 9),
    is_at_import=False,
    code="kept.append(member)",
    digest="0",
)


SPOT = "7 DropEffect 0"


def case(name: str, *spots: str, cpu_s: float = 1, found: Sequence[str] = ()) -> Case:
    noted = {MUTANT.path: list(spots), "broker/core/tail.py": [SPOT]}
    return Case(kind="seeds", name=name, code="0", cpu_s=cpu_s, found=list(found), noted=noted)


class Runs:
    """Cases that find something by their names."""

    def __init__(self, *finding: str) -> None:
        self.finding = finding
        self.ran: list[str] = []
        self.limits_s: list[float] = []

    def __call__(self, name: str) -> list[str]:
        self.ran.append(name)
        return ["a violation"] if name in self.finding else []


def meet(stage: Stage, mutant: Mutant, runs: Runs) -> dict[str, Any]:
    return judging.meet(stage, mutant, runs, runs.limits_s.append)


def stage(*cases: Case, cpu_s: float | None = None) -> Stage:
    return Stage(name="seeds", cases=cases, cpu_s=cpu_s)


def test_a_mutant_meets_what_reaches_it_up_to_the_first_that_finds_it() -> None:
    runs = Runs("3", "4")
    met = meet(
        stage(case("1", "7"), case("2", SPOT), case("3", SPOT), case("4", SPOT)), MUTANT, runs
    )

    assert runs.ran == ["2", "3"]
    assert runs.limits_s == [1 + HANGS_S, 1 + HANGS_S]
    assert (met["by"], met["found"]) == ("3", ["a violation"])


def test_a_mutant_that_works_at_import_meets_everything() -> None:
    runs = Runs()
    met = meet(stage(case("1"), case("2")), replace(MUTANT, is_at_import=True), runs)

    assert runs.ran == ["1", "2"]
    assert met["by"] == ""


def test_what_finds_something_without_a_mutant_judges_nobody() -> None:
    runs = Runs("1")

    assert meet(stage(case("1", SPOT, found=["a bug"])), MUTANT, runs)["by"] == ""
    assert runs.ran == []


def test_what_need_not_run_takes_its_share_of_the_time() -> None:
    runs = Runs("3")
    cases = case("1", cpu_s=6), case("2", cpu_s=5), case("3", SPOT)

    assert meet(stage(*cases, cpu_s=10), MUTANT, runs)["by"] == ""
    assert meet(stage(*cases, cpu_s=12), MUTANT, runs)["by"] == "3"


def test_own_tests_are_met_by_the_mutants_of_their_file_alone() -> None:
    there, elsewhere, nowhere = "broker/core/isr.py", "broker/core/tail.py", "broker/core/none.py"
    (own, other) = own_tests([there, there, elsewhere, nowhere])

    assert own.name == "tests/broker/core/test_isr.py"
    assert own.reaches(MUTANT)
    assert own.reaches(replace(MUTANT, is_at_import=True))
    assert not other.reaches(replace(MUTANT, is_at_import=True))
