"""Which runs may be asked for; that one is played: tests/integration and tests/browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.errors import ExitCode, LabError
from jbodlab.http_api.runs import SEED_MAX, run_command

FILE = Path("run.json")


def test_a_scenario_or_what_a_seed_draws_is_recorded() -> None:
    assert run_command("kip-112", "7", FILE)[3:] == [
        *("simulate", "--scenario", "kip-112"),
        *("--seed", "7", "--record", "run.json"),
    ]
    assert run_command("drawn", "7", FILE)[3:] == [
        "simulate",
        "--seed",
        "7",
        "--record",
        "run.json",
    ]


@pytest.mark.parametrize("plan", ["", "../a", "/etc/passwd", "a.yaml", "--help", "A", "a b"])
def test_a_file_or_an_option_is_no_plan(plan: str) -> None:
    with pytest.raises(LabError, match="no scenario's name") as told:
        run_command(plan, "1", FILE)
    assert told.value.exit_code == ExitCode.USAGE


@pytest.mark.parametrize("seed", ["", "-1", "1.0", "x", "²", str(SEED_MAX + 1)])
def test_a_seed_is_a_whole_number(seed: str) -> None:
    with pytest.raises(LabError, match="is no whole number up to"):
        run_command("drawn", seed, FILE)
