"""One seed, one story: the same in every process, and from the file that the seed resolves to."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from controller.journal import COMPACT_BYTES_MIN
from simulation.core.actions import EditJournal, Step
from simulation.core.plan import ClusterPlan
from simulation.core.plan_document import parse_plan, plan_text
from simulation.simulated_run import (
    SMALL_JOURNAL_BYTES,
    compact_bytes_min,
    plan_of_seed,
    replay_header,
    simulate,
    simulated_spec,
)
from simulation.world.random_streams import RandomStreams
from tests.simulation.run.played import plan_of, play

SEED = 3
AIOKAFKA_SEED = 13
STEPS = "- kill: leader of a-0\n- until: {led: a-0}"
LOAD = "workloads: [{name: load, topic: a}]"
SECONDS = 2
TRACE = """
import logging
from simulation.simulated_run import plan_of_seed, simulate
logging.disable(logging.CRITICAL)
run = simulate(plan_of_seed({seed}, {seconds}), {seed})
print(run.trace_hash, run.steps, run.virtual_ms, len(run.verdict.violations))
"""


def traced(hash_seed: str, seed: int, seconds: int) -> str:
    return subprocess.run(
        [sys.executable, "-c", TRACE.format(seed=seed, seconds=seconds)],
        env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.integration
@pytest.mark.sampled_among("worlds in processes that hash differently", kept=1)
@pytest.mark.parametrize("seed", [SEED, AIOKAFKA_SEED, 23])
def test_a_seed_has_one_trace_whatever_the_hash_seed(seed: int) -> None:
    first = traced("1", seed, 5)
    assert first == traced("2", seed, 5)
    assert first.endswith(" 0\n")


def test_a_client_of_others_lives_in_the_time_of_the_world() -> None:
    plan = plan_of_seed(AIOKAFKA_SEED, SECONDS)
    assert "aiokafka" in [workload.client for workload in plan.workloads]
    runs = [simulate(plan, AIOKAFKA_SEED) for _ in range(2)]
    assert runs[0].trace_hash == runs[1].trace_hash


def test_the_file_that_a_seed_resolves_to_runs_the_same() -> None:
    plan = plan_of_seed(SEED, SECONDS)
    written = parse_plan(plan_text(plan), source="resolved")
    drawn_run, written_run = simulate(plan, SEED), simulate(written, SEED)
    assert written_run.trace_hash == drawn_run.trace_hash
    assert written_run.steps == drawn_run.steps
    assert written_run.verdict == drawn_run.verdict


def test_another_seed_is_another_world_for_the_same_plan() -> None:
    plan = plan_of_seed(SEED, SECONDS)
    assert simulate(plan, SEED + 1).trace_hash != simulate(plan, SEED).trace_hash


def test_a_run_tells_what_it_took_and_which_transitions_it_made() -> None:
    lines: list[str] = []
    run = simulate(plan_of_seed(SEED, SECONDS), SEED)
    lines += map(str, run.verdict.story)
    assert run.steps > 1000
    assert run.virtual_ms >= SECONDS * 1000
    assert any(one.machine == "PartitionPhase" for one in run.transitions)
    assert any(one.machine == "BrokerState" for one in run.transitions)
    assert lines


def test_a_run_is_replayed_with_what_its_header_names() -> None:
    header = replay_header("abc")
    assert header["commit"] == "abc"
    assert header["python"].count(".") == 2
    assert "aiokafka" in header
    assert replay_header(None)["commit"] == "unknown"


def test_a_plan_that_was_never_drawn_is_drawn_the_same_twice() -> None:
    assert plan_of_seed(99) == plan_of_seed(99)


def test_the_spec_of_a_plan_is_the_same_in_every_world() -> None:
    spec = simulated_spec(ClusterPlan(brokers=2))

    assert spec.controller.port == 9000
    assert spec.broker(2).log_dirs[1].path == "/world/data/b2/d2"
    assert simulated_spec(ClusterPlan(brokers=2)) == spec


def test_one_seed_is_one_story() -> None:
    first = play(STEPS, brokers=3, rest=LOAD, seed=5)

    assert play(STEPS, brokers=3, rest=LOAD, seed=5) == first


def test_half_of_the_worlds_compact_their_journal_but_where_a_hand_edits_it() -> None:
    sizes = {COMPACT_BYTES_MIN, SMALL_JOURNAL_BYTES}
    worlds = [RandomStreams(seed) for seed in range(20)]
    plan = plan_of(STEPS)
    assert {compact_bytes_min(plan, world) for world in worlds} == sizes
    edited = replace(plan, steps=(*plan.steps, Step(action=EditJournal("cut"))))
    assert {compact_bytes_min(edited, world) for world in worlds} == {COMPACT_BYTES_MIN}
