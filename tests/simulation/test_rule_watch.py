"""Rules are watched in a fresh process, and stories are the same there."""

from __future__ import annotations

import sys

import pytest

from jbodlab.worlds.seed_runs import Request, new_tally, run_many
from simulation.rule_watch import AlreadyImportedError, all_outcomes, watch
from simulation.simulated_run import SimulatedRun, simulate_seed

SEED = 3


def test_every_rule_of_both_rooms_has_outcomes() -> None:
    rules = [outcome.rule for outcome in all_outcomes()]
    assert any(rule.startswith("broker.core.isr.") for rule in rules)
    assert any(rule.startswith("controller.core.election.") for rule in rules)
    assert not any(".engine." in rule for rule in rules)


def test_rooms_that_were_imported_before_cannot_be_watched() -> None:
    assert "broker.core.isr" in sys.modules
    with pytest.raises(AlreadyImportedError, match="was imported before it could be watched"):
        watch()


def test_a_sweep_tells_which_rules_it_reached_and_changes_no_story() -> None:
    runs: list[SimulatedRun] = []
    request = Request(seeds=range(SEED, SEED + 1), seconds=1, rules=True)
    tally = new_tally(request)
    run_many(request, range(SEED, SEED + 1), tally, runs.append)

    assert [run.trace_hash for run in runs] == [simulate_seed(SEED, 1).trace_hash]
    assert tally.rules is not None
    reports = {report.rule: report for report in tally.rules.reports()}
    assert len(reports) == len({outcome.rule for outcome in all_outcomes()})
    assert sum(report.entered for report in reports.values()) > len(reports) // 4
