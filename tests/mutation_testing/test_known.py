"""Three well-known bugs fall: all works, from a place in a file to a verdict."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import Final

import pytest

from tests.mutation_testing.__main__ import warm_up
from tests.mutation_testing.judging import Stage, judge
from tests.mutation_testing.places import spots_by_file
from tests.mutation_testing.planting import mutants_of
from tests.mutation_testing.reach import Case
from tests.mutation_testing.results import Result

SCENARIO: Final = "kip-112-leader-log-dir-fails"
KNOWN: Final = (
    "broker/core/partition.py:Partition._raise_high_watermark:DropEffect:1",
    "broker/core/partition.py:Partition.become_leader:DropEffect:2",
    "controller/core/partition_moves.py:_commit:DropEffect:6",
)
"""The high watermark stays where it is; nobody leads; leaders are elected and nobody is told."""
NO_BUG: Final = "controller/core/partition_moves.py:note_change:ConditionNeverHolds:1"
"""The controller's log leaves out who led."""


def verdicts() -> dict[str, str]:
    """Return by mutant what it fell to, "" for nothing; call it where no broker was imported."""
    warm_up()
    files = dict.fromkeys(known.partition(":")[0] for known in (*KNOWN, NO_BUG))
    mutants = [mutant for file in files for mutant in mutants_of(file)]
    asked = [
        (mutant, Result(id=mutant.id, digest=mutant.digest))
        for mutant in mutants
        if mutant.id in (*KNOWN, NO_BUG)
    ]
    noted = spots_by_file(mutant for mutant, _ in asked)
    case = Case(kind="scenarios", name=SCENARIO, code="", cpu_s=0, found=[], noted=noted)
    stage = Stage(name="scenarios", cases=[case], cpu_s=None)
    return {mutant.id: result.by for mutant, result in judge(stage, asked, jobs=2)}


@pytest.mark.sampled_among("mutants whose fate is known", kept=0)
def test_well_known_bugs_fall_and_what_is_none_does_not() -> None:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
        found = fresh.submit(verdicts).result()

    assert found == {**dict.fromkeys(KNOWN, SCENARIO), NO_BUG: ""}
