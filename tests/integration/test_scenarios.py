"""Scenario files in real processes; all of them in the simulation: tests/jbodlab."""

from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.scenario_files import load_plan
from jbodlab.scenario_runs import run_scenario
from simulation.core.plan_document import parse_plan

EVERYTHING = """
name: everything
shows: What a stage of real processes can do.
cluster:
  topics: [{name: a, assignment: [[1, 2, 3]], log_dir: d1}]
workloads: [{name: load, topic: a}, {name: reader, topic: a, kind: consume}]
steps:
  - until: {count: {workload: load, at_least: 10}}
  - until: {metric: {broker: 1, name: kafka_server_replicamanager_leadercount, is: 1}}
  - pause: 3
  - expect: {node: {node: 3, state: paused}}
  - until: {isr: {of: a-0, are: [1, 2]}}
  - resume: 3
  - until: {full_isr: a}
  - fault: {id: cut, mode: cut, from: broker-2, to: "*"}
  - until: {isr: {of: a-0, are: [1, 3]}}
  - clear: cut
  - until: {full_isr: a}
  - kill: 2
  - expect: {node: {node: 2, state: stopped}}
  - fault: {id: dead, broker: 2, log_dir: d1, mode: eio}
  - start: 2
  - until: {log_dir: {broker: 2, log_dir: d1, state: offline}}
  - clear: dead
  - replace_log_dir: {broker: 2, log_dir: d1}
  - until: {full_isr: a}
"""


@pytest.mark.parametrize(
    "name", ["kip-112-log-dir-broken-at-start", "kip-113-moves-inside-brokers"]
)
def test_a_scenario_comes_out_in_real_processes_as_it_must(name: str, tmp_path: Path) -> None:
    verdict = run_scenario(load_plan(name), "real", 0, folder=tmp_path)

    assert [str(violation) for violation in verdict.violations] == []


def test_everything_that_real_processes_can_do_is_done(tmp_path: Path) -> None:
    verdict = run_scenario(parse_plan(EVERYTHING, source="test"), "real", 0, folder=tmp_path)

    assert [str(violation) for violation in verdict.violations] == []
    assert verdict.fault_hits["cut"] > 0
    assert verdict.fault_hits["dead"] > 0
