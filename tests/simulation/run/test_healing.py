from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from protocol.ids import TopicPartition
from protocol.topic_names import CONSUMER_OFFSETS
from simulation.core.observation import Observation, ObservedLogDir, ObservedOffsets
from simulation.core.plan import Ending
from simulation.core.verdict import Verdict
from simulation.run.healing import LOOK_EVERY_MS, Repair, end_workloads
from simulation.run.run_context import StepError
from simulation.run.runner import run_plan
from simulation.run.story import Story
from simulation.run.workloads import ENDS_WITHIN_MS
from simulation.simulated_run import simulate, simulated_spec
from simulation.world.cluster import SimCluster
from simulation.world.loop import SimLoop
from simulation.world.sim_cluster_instance import SimClusterInstance
from tests.simulation.core.test_health import WELL, seen
from tests.simulation.run.played import found, plan_of, play, story


def test_what_is_down_or_paused_or_broken_is_repaired_in_the_end() -> None:
    verdict = play(
        """
        - until: {count: {workload: load, at_least: 5}}
        - fault: {id: dead, broker: 1, log_dir: of a-0, mode: eio}
        - until: {leader: {of: a-0, is: 2}}
        - kill: 3
        - pause: 2
        """,
        brokers=3,
        rest="workloads: [{name: load, topic: a}]",
    )

    assert found(verdict) == []
    lines = story(verdict)
    for line in ("faults end", "broker-2 goes on", "broker-3 is started"):
        assert line in lines
    assert "d1 of broker-1 is brought back" in lines
    assert verdict.healed_after_ms is not None


def test_a_plan_may_leave_nodes_down_and_log_dirs_broken() -> None:
    verdict = play(
        """
        - until: {count: {workload: load, at_least: 5}}
        - fault: {id: dead, broker: 1, log_dir: of a-0, mode: eio}
        - until: {leader: {of: a-0, is: 2}}
        - kill: 3
        - until: {isr: {of: a-0, are: [2]}}
        """,
        brokers=3,
        rest="workloads: [{name: load, topic: a}]\n"
        "ending: {start_nodes: false, restart_log_dirs: false}",
    )

    assert "broker-3 is started" not in story(verdict)
    assert found(verdict) == []


def test_what_does_not_heal_in_time_is_told() -> None:
    verdict = play(
        """
        - reassign: {of: a-0, to: [1]}
        - until: {not: {reassigning: "*"}}
        - kill: controller
        """,
        brokers=2,
        rest="ending: {heals_within: 2s, start_nodes: false}",
    )

    (told,) = found(verdict)
    assert "ms after the faults ended: nobody tells of reassignments" in told
    assert verdict.healed_after_ms is None


def test_cpus_and_clocks_are_as_before_in_the_end() -> None:
    verdict = play("- slow_cpu: {node: 1, factor: 9}\n- skew_clock: {node: 1, by: 1min}")

    assert found(verdict) == []


class LateStage(SimClusterInstance):
    """A cluster whose nodes wait for something a while longer than clients can see."""

    looks_count = 0

    async def lacks(self) -> Sequence[str]:
        self.looks_count += 1
        return ["broker 1 has not heard"] if self.looks_count < 8 else await super().lacks()


def test_all_is_well_only_when_the_nodes_themselves_wait_for_nothing() -> None:
    plan = plan_of("- expect: {full_isr: a}", brokers=2)
    loop = SimLoop(0)

    async def run() -> Verdict:
        cluster = LateStage(SimCluster(loop, simulated_spec(plan.cluster)))
        return await run_plan(plan, cluster, chance=random.Random(0))

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        verdict = runner.run(run())

    assert found(verdict) == []
    assert verdict.healed_after_ms is not None
    assert verdict.healed_after_ms >= 7 * LOOK_EVERY_MS


def test_a_disk_that_wrote_to_wrong_places_is_replaced_where_the_plan_says_so() -> None:
    steps = """
        - until: {count: {workload: load, at_least: 5}}
        - fault: {id: f, broker: 1, log_dir: of a-0, mode: misdirected_write, files: [log],
                  times: 2}
        - until: {fault_hits: f}
        - until: {count: {workload: load, more: 5}}
        """
    verdict = play(
        steps,
        brokers=3,
        rest="workloads: [{name: load, topic: a}]\nending: {replace_log_dirs: true}",
    )

    assert found(verdict) == []
    lines = story(verdict)
    assert any(line.endswith("is replaced: it wrote elsewhere") for line in lines)


def test_the_only_disk_of_a_broker_is_replaced_between_two_runs_of_it() -> None:
    plan = plan_of(
        """
        - until: {count: {workload: load, at_least: 5}}
        - fault: {id: f, broker: 1, log_dir: d1, mode: misdirected_write, files: [log], times: 1}
        - fault: {id: g, broker: 1, log_dir: d1, mode: misdirected_write, files: [log], times: 1}
        - until: {fault_hits: f}
        - until: {fault_hits: g}
        """,
        brokers=3,
        rest="workloads: [{name: load, topic: a}]\nending: {replace_log_dirs: true}",
    )
    with_one_disk = replace(plan, cluster=replace(plan.cluster, log_dirs=1))
    verdict = simulate(with_one_disk, 0).verdict

    assert found(verdict) == []
    told = "/world/data/b1/d1 of broker-1 is replaced: it wrote elsewhere"
    assert story(verdict).count(told) == 1, "whatever the number of faults"


def test_every_replica_that_a_return_left_out_is_brought_back_without_an_isr_too() -> None:
    """Of three without another replica the last one was left without a leader (seed 744087)."""
    verdict = play(
        """
        - create_topic: {name: w, assignment: [[1]], log_dir: d1}
        - create_topic: {name: x, partitions: 3, assignment: [[1], [1], [1]], log_dir: d1}
        - fault: {id: dead, broker: 1, log_dir: d1, mode: eio}
        - until: {offline_replicas: {of: w, are: [1]}}
        - clear: dead
        - restart_partition: {of: w-0, broker: 1}
        """,
        brokers=3,
    )

    assert found(verdict) == []
    lines = story(verdict)
    assert all(f"x-{number} of broker-1 is brought back" in lines for number in range(3))


@pytest.mark.parametrize("is_repaired", [True, False])
def test_nobody_is_well_before_what_was_left_out_was_tried(*, is_repaired: bool) -> None:
    """Nothing else was wrong, and the topic's group had no coordinator for good (seed 754229)."""
    nothing: Any = None
    out = replace(WELL, leader=-1, isr=(2,), offline_replicas=(2,))
    log_dirs = {(2, "d1"): ObservedLogDir(error="NONE")}
    half_back = replace(seen(out), log_dirs=log_dirs)
    repair = Repair(nothing, Ending(restart_log_dirs=is_repaired), nothing)
    assert repair.still_left_out(half_back) == ["a-0 of broker-2 is left out"] * is_repaired


class Members:
    """Two members that do not end, of a library and of Java."""

    async def end_writers(self) -> list[str]:
        return []

    end_transformers = end_writers

    async def end_readers(self) -> list[str]:
        return ["library", "java"]

    def library_group(self, name: str) -> str:
        return "g" if name == "library" else ""

    def unread(self, _offsets: object, _lost: object) -> list[str]:
        return []


async def answered(observation: Observation, _needs: object) -> Observation:
    return observation


@pytest.mark.parametrize("is_lost", [True, False])
def test_a_librarys_member_that_does_not_end_is_excused_without_a_coordinator_alone(
    *, is_lost: bool
) -> None:
    """It waits for it while its group rebalances, though it is stopped (seed 1070401)."""
    offsets = replace(WELL, leader=-1, isr=(2,), offline_replicas=(2,)) if is_lost else WELL
    view = {TopicPartition(CONSUMER_OFFSETS, 0): offsets}
    led = dict.fromkeys(view, ObservedOffsets(earliest=0, latest=0))
    observation = replace(seen(), metadata={1: view, 2: view}, offsets=led)
    context: Any = SimpleNamespace(
        workloads=Members(),
        cluster=SimpleNamespace(now_ms=lambda: 0),
        observer=SimpleNamespace(observe=partial(answered, observation)),
        seen=observation,
    )
    told = Story(lambda: 0)

    with pytest.raises(StepError) as raised:
        asyncio.run(end_workloads(context, Ending(), told))

    wrong = "java" if is_lost else "library, java"
    assert str(raised.value) == f"{wrong} did not end within {ENDS_WITHIN_MS} ms"
    excused = "library is given up: the coordinator of g is lost"
    assert (excused in [line.text for line in told.lines]) is is_lost
