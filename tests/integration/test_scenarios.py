"""Scenario files in real processes; all of them in the simulation: tests/jbodlab."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from jbodlab.worlds.real_cluster_instance import RealClusterInstance
from jbodlab.worlds.scenario_files import load_plan
from jbodlab.worlds.scenario_runs import run_scenario
from simulation.core.checkers.reach import Reach
from simulation.core.plan_document import parse_plan
from simulation.core.samples import Samples
from simulation.run.runner import run_plan

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


BROKEN = """
name: broken
shows: A cluster of real processes in which something is broken behind its back.
cluster: {brokers: 2, topics: [{name: a, assignment: [[1, 2]], log_dir: d1}]}
workloads: [{name: load, topic: a}]
steps:
  - until: {count: {workload: load, at_least: 10}}
  - write_file: {broker: 1, log_dir: d2, file: %s, text: ""}
"""
STRAY = f"a-0.{'0' * 32}-future/{0:020}.log"


class _Spoiling(RealClusterInstance):
    """Flips a bit of a follower's log and of the journal, when nobody works any more."""

    async def samples(self) -> Samples:
        folder = Path(self.spec.controller.data_dir)
        spoil(folder / "journal.jsonl", 20)
        spoil(Path(self.spec.broker(2).log_dirs[0].path) / "a-0" / f"{0:020}.log", 80)
        return await super().samples()


def spoil(file: Path, position: int) -> None:
    data = bytearray(file.read_bytes())
    data[position] ^= 1
    file.write_bytes(data)


@pytest.mark.sampled_among("runs of plans in real processes", kept=1)
async def test_a_real_cluster_that_is_broken_behind_its_back_fails(tmp_path: Path) -> None:
    plan = parse_plan(BROKEN % STRAY, source="test")

    verdict = await run_plan(plan, _Spoiling(plan.cluster, tmp_path), chance=Random(0))

    found = {violation.checker: violation.text for violation in verdict.violations}
    assert list(found) == ["logs agree", "one log per replica", "journal"]
    assert "a-0 differs from offset 0 on, below the high watermark" in found["logs agree"]
    assert "has a future log of a-0" in found["one log per replica"]
    assert "the checksum does not match" in found["journal"]


@pytest.mark.sampled("name", kept=1)
@pytest.mark.parametrize(
    "name",
    [
        "failed-close-withholds-only-its-log-dirs-marker",
        "kip-112-log-dir-broken-at-start",
        "kip-113-moves-inside-brokers",
    ],
)
def test_a_scenario_comes_out_in_real_processes_as_it_must(name: str, tmp_path: Path) -> None:
    verdict = run_scenario(load_plan(name), "real", 0, folder=tmp_path).verdict

    assert [str(violation) for violation in verdict.violations] == []


@pytest.mark.sampled_among("runs of plans in real processes", kept=1)
def test_everything_that_real_processes_can_do_is_done(tmp_path: Path) -> None:
    verdict = run_scenario(
        parse_plan(EVERYTHING, source="test"), "real", 0, folder=tmp_path
    ).verdict

    assert [str(violation) for violation in verdict.violations] == []
    assert [str(check) for check in verdict.checks_of(Reach.NOT_SEEN)] == [
        "acks (without high watermarks in their moment)",
        "settled (without high watermarks in their moment)",
        "journal first (without the controller's memory)",
        "stable offsets (without high watermarks in their moment)",
    ]
    assert [str(check) for check in verdict.checks_of(Reach.IN_PART)] == [
        "states (without high watermarks in their moment)",
        "high watermark (without high watermarks in their moment)",
        "reads (without high watermarks in their moment)",
        "retention (without high watermarks in their moment)",
        "journal (without the controller's memory)",
        "answers (without connections)",
    ]
    assert verdict.fault_hits["cut"] > 0
    assert verdict.fault_hits["dead"] > 0
