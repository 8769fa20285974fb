"""Has a mutant meet seeds, then scenarios, then the tests that cover it, until it falls.

It says nothing of what that means. The process that calls it must not have imported what mutants
are planted in: every mutant is planted in a fork of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, Final

from tests.mutation_testing.forks import Ended, in_forks, limit_cpu
from tests.mutation_testing.planting import Mutant, plant
from tests.mutation_testing.reach import Case
from tests.mutation_testing.results import Result

HANGS_S: Final = 60.0
"""A case that takes so much more processor time than it does without a mutant has no end."""
WALL_S_MAX: Final = 3600.0
RunCase = Callable[[str], list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What mutants meet at this stage."""

    name: str
    cases: Sequence[Case]
    """In this order."""
    cpu_s: float | None
    """How much processor time the cases may take in all, those included that need not be run."""


def judge(
    stage: Stage, results: Iterable[tuple[Mutant, Result]], *, jobs: int
) -> Iterator[tuple[Mutant, Result]]:
    """Have mutants meet a stage; give each with its result as soon as it is through."""
    before: dict[str, Result] = {}

    def tasks() -> Iterator[tuple[Mutant, Callable[[], object]]]:
        for mutant, result in results:
            before[mutant.id] = result
            yield mutant, partial(_meet_planted, stage, mutant)

    for mutant, ended in in_forks(tasks(), jobs=jobs, wall_s_max=WALL_S_MAX):
        yield mutant, _result(before.pop(mutant.id), stage, mutant, ended)


def meet(
    stage: Stage, mutant: Mutant, run_case: RunCase, limit_s: Callable[[float], None] = limit_cpu
) -> dict[str, Any]:
    """Run the cases of a stage, in a process with its mutant, up to the first that finds it.

    ``limit_s`` gets the seconds of processor time that the next case may take.
    """
    spent_s = 0.0
    for case in stage.cases:
        if stage.cpu_s is not None and spent_s >= stage.cpu_s:
            break
        if case.found or not case.reaches(mutant):
            spent_s += case.cpu_s
            continue
        limit_s(case.cpu_s + HANGS_S)
        begun_s = time.process_time()
        found = run_case(case.name)
        spent_s += time.process_time() - begun_s
        if found:
            return {"by": case.name, "found": found, "cpu_s": spent_s}
    return {"by": "", "found": [], "cpu_s": spent_s}


def _meet_planted(stage: Stage, mutant: Mutant) -> dict[str, Any]:
    if not any(case.reaches(mutant) for case in stage.cases):
        return {"by": "", "found": [], "cpu_s": 0.0}
    limit_cpu(HANGS_S)
    try:
        plant(mutant)
        runs: Mapping[str, RunCase] = import_module("tests.mutation_testing.cases").RUN
    except Exception as error:  # noqa: BLE001 - a mutant may raise anything anywhere
        return {"by": "import", "found": [f"cannot be imported: {error!r}"[:300]], "cpu_s": 0.0}
    return meet(stage, mutant, runs[stage.name])


def _result(before: Result, stage: Stage, mutant: Mutant, ended: Ended) -> Result:
    end: dict[str, Any] = ended.value or {
        "by": "its process",
        "found": [ended.died],
        "cpu_s": HANGS_S,
    }
    reached = sum(case.reaches(mutant) and not case.found for case in stage.cases)
    return replace(
        before,
        met={**before.met, stage.name: reached},
        cpu_s={**before.cpu_s, stage.name: round(end["cpu_s"], 1)},
        fell_to=stage.name if end["by"] else "",
        by=end["by"],
        found=tuple(end["found"]),
    )
