"""Two hundred seeds on two cores, a score at a time, and what a user sees of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

SEEDS = 8


@pytest.mark.integration
@pytest.mark.sampled("first", kept=1)
@pytest.mark.parametrize("first", range(1, 200, SEEDS))
def test_seeds_come_out_as_they_must(first: int) -> None:
    result = subprocess.run(
        [
            *(sys.executable, "-m", "jbodlab", "simulate", "--json"),
            *("--seeds", f"{first}..{first + SEEDS - 1}", "--jobs", "2", "--seconds", "5"),
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
    assert tally["acknowledged"] > 1_000
