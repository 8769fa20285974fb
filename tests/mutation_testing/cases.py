"""What may make a mutant fall: a seed, a shipped scenario, a file of tests.

Each says what it found. All that mutants are planted in is imported here: a process that has a
mutant imports this module afterwards.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

from jbodlab.worlds.scenario_files import load_plan
from simulation.core.plan import Plan
from simulation.simulated_run import plan_of_seed, simulate

_TOLD_MAX: Final = 3
_PYTEST: Final = (
    *("-x", "-q", "-p", "no:randomly", "-p", "no:cacheprovider"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # what is warm is imported already
)
_ROOT: Final = Path(__file__).parents[2]


def run_seed(seed: str) -> list[str]:
    """Return the first violations of a seed."""
    return _violations(plan_of_seed(int(seed)), int(seed))


def run_scenario(name: str) -> list[str]:
    """Return the first violations of a shipped scenario."""
    return _violations(load_plan(name), 0)


def run_tests(file: str) -> list[str]:
    """Return the first test of a file that fails; its path is from the root of the repository."""
    failures = _Failures()
    try:
        code = pytest.main([*_PYTEST, str(_ROOT / file)], plugins=[failures])
    except pytest.PytestUnraisableExceptionWarning as left:  # found behind the last test
        return failures.names or [f"{file}: {left}"[:300]]
    if code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return []
    return failures.names or [f"{file}: pytest ends with {code}"]


RUN: Final[Mapping[str, Callable[[str], list[str]]]] = {
    "seeds": run_seed,
    "scenarios": run_scenario,
    "own_tests": run_tests,
    "tests": run_tests,
}


def _violations(plan: Plan, seed: int) -> list[str]:
    logging.disable(logging.CRITICAL)
    try:
        found = simulate(plan, seed).verdict.violations
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a mutant may raise anything
        return [f"raised {type(error).__name__}: {error}"[:300]]
    finally:
        logging.disable(logging.NOTSET)
    return [str(violation)[:300] for violation in found[:_TOLD_MAX]]


class _Failures:
    """A plugin of pytest that keeps the names of what failed."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.names.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.names.append(f"{report.nodeid} cannot be imported")
