"""A failing plan as files for the repository: the scenario, and a pytest file that runs it.

Writes no files; gives their texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import simulation
from simulation.core.checkers.evidence import Violation
from simulation.core.plan import Plan
from simulation.core.plan_document import plan_text


class Reproduction(NamedTuple):
    """Two files that belong in one folder."""

    plan_name: str
    """Of the scenario file."""
    plan: str
    test_name: str
    test: str


def reproduction(plan: Plan, seed: int, violations: Sequence[Violation]) -> Reproduction:
    """Return the files of a plan that fails in the world of ``seed``."""
    name = f"{plan.name}-reduced"
    first = violations[0]
    small = replace(plan, name=name, shows=f"What {plan.name} came to: {first.checker}.")
    comment = "\n".join(f"# {line}" for line in _comment(seed, violations))
    return Reproduction(
        f"{name}.yaml",
        f"{comment}\n{plan_text(small)}",
        f"test_{name.replace('-', '_')}.py",
        _TEST.format(
            title=f"{name}: {first.checker}",
            function=f"{name.replace('-', '_')}_comes_out_as_it_must",
            seed=seed,
            file=f"{name}.yaml",
            plan_document=plan_text.__module__,
            simulation=simulation.__name__,
        ),
    )


def _comment(seed: int, violations: Sequence[Violation]) -> list[str]:
    told = [" ".join(str(violation).split()) for violation in violations[:3]]
    return [f"In the world of seed {seed}:", *told]


_TEST = '''"""{title}."""

from __future__ import annotations

from pathlib import Path

from {plan_document} import parse_plan
from {simulation}.simulate import simulate

PLAN = Path(__file__).with_name("{file}")


def test_{function}() -> None:
    plan = parse_plan(PLAN.read_text(encoding="utf-8"), source=str(PLAN))
    verdict = simulate(plan, seed={seed}).verdict
    assert verdict.is_ok, "\\n".join(map(str, verdict.violations))
'''
