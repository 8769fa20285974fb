"""Two hundred seeds on two cores, a score at a time, and what a user sees of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from simulation.simulated_run import plan_of_seed

SEEDS = 8
LENGTH_MS = 5_000


@pytest.mark.integration
@pytest.mark.sampled("first", kept=1)
@pytest.mark.parametrize("first", range(1, 200, SEEDS))
def test_seeds_come_out_as_they_must(first: int) -> None:
    result = subprocess.run(
        [
            *(sys.executable, "-m", "jbodlab", "simulate", "--json"),
            *(
                "--seeds",
                f"{first}..{first + SEEDS - 1}",
                "--jobs",
                "2",
                "--seconds",
                str(LENGTH_MS // 1_000),
            ),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    tally = json.loads(result.stdout)
    assert tally["seeds"] == SEEDS
    assert tally["transitions_undeclared"] == []
    assert tally["acknowledged"] > sum(map(sent_undisturbed, range(first, first + SEEDS))) / 2


def sent_undisturbed(seed: int) -> int:
    """Return how many records a seed's producers send in its story where no request waits."""
    return sum(
        min(each.records_max or sys.maxsize, LENGTH_MS // each.interval_ms * each.batch_records)
        for each in plan_of_seed(seed, LENGTH_MS // 1_000).workloads
        if each.kind == "produce"
    )
