"""Stories for tests: what comes with jbodlab, and short ones of a test's own."""

from __future__ import annotations

from jbodlab.worlds.scenario_files import load_story
from simulation.core.plan import Plan
from simulation.core.plan_document import parse_plan

HEAD = """
name: a-story
shows: Something happens.
cluster:
  log_dirs: 3
  topics: [{name: orders, assignment: [[1, 2, 3]]}]
workloads: [{name: writes, topic: orders, records_max: 1, begins: false}]
"""


def shipped(name: str) -> Plan:
    """Return a story that comes with jbodlab."""
    return load_story(name)


def told(steps: str, rest: str = "") -> Plan:
    """Return a story of these steps, of a cluster that has a topic."""
    return parse_plan(f"{HEAD}{rest}\nsteps:\n{steps}", source="a test")
