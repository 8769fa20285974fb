"""Plays small plans in simulated worlds: steps are written as in scenario files."""

from __future__ import annotations

import textwrap

from simulation.core.plan import Plan
from simulation.core.plan_document import parse_plan
from simulation.core.verdict import Verdict
from simulation.simulated_run import simulate

HEAD = """
name: played
shows: What the steps say.
cluster: {brokers: %d, topics: [{name: a, assignment: [%s]}]}
"""


def plan_of(steps: str, *, brokers: int = 1, rest: str = "") -> Plan:
    """Return a plan with these steps on a cluster with one topic ``a`` on all brokers."""
    head = HEAD % (brokers, list(range(1, brokers + 1)))
    body = textwrap.indent(textwrap.dedent(steps).strip(), "  ")
    return parse_plan(f"{head}{rest}\nsteps:\n{body}\n", source="test")


def play(steps: str, *, brokers: int = 1, rest: str = "", seed: int = 0) -> Verdict:
    """Run such a plan."""
    return simulate(plan_of(steps, brokers=brokers, rest=rest), seed).verdict


def found(verdict: Verdict) -> list[str]:
    """Return what was found, without times."""
    return [f"{violation.checker}: {violation.text}" for violation in verdict.violations]


def story(verdict: Verdict) -> list[str]:
    """Return the lines of the story, without times."""
    return [line.text for line in verdict.story]
