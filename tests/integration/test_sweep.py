"""Two hundred seeds on two cores, and what a user sees of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

SEEDS = 200
WITHIN_S = 180 * 4
"""Three minutes on two idle cores; other tests may run beside this one."""


@pytest.mark.integration
@pytest.mark.timeout(WITHIN_S)
def test_two_hundred_seeds_come_out_as_they_must() -> None:
    result = subprocess.run(
        [
            *(sys.executable, "-m", "jbodlab", "simulate", "--json"),
            *("--seeds", f"1..{SEEDS}", "--jobs", "2", "--seconds", "5"),
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
    assert tally["acknowledged"] > 10_000
