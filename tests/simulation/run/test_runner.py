from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest

from simulation.core.history import Function, History
from simulation.core.plan import Plan
from simulation.core.verdict import StoryLine
from simulation.run.runner import CannotRunError, refusal, run_plan
from simulation.simulated_run import simulated_spec
from simulation.world.cluster import SimCluster
from simulation.world.loop import SimLoop
from simulation.world.sim_cluster_instance import SimClusterInstance
from tests.simulation.run.played import found, plan_of, play, story


class WeakStage(SimClusterInstance):
    """A cluster that can do nothing special, as real processes."""

    @property
    def capabilities(self) -> tuple[()]:
        return ()


def run_on_weak_stage(plan: Plan) -> None:
    loop = SimLoop(0)

    async def run() -> None:
        cluster = WeakStage(SimCluster(loop, simulated_spec(plan.cluster)))
        assert refusal(plan, cluster) is not None
        await run_plan(plan, cluster, chance=random.Random(0))

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(run())


def test_a_plan_that_asks_too_much_of_a_stage_is_refused_before_anything_starts() -> None:
    with pytest.raises(CannotRunError) as caught:
        run_on_weak_stage(plan_of("- power_cut: 1\n- slow_cpu: {node: 1, factor: 2}"))

    assert str(caught.value) == "played needs power cut, slow cpu, which this world does not have"


def test_the_topics_of_the_cluster_are_there_before_the_story_begins() -> None:
    verdict = play("- {at: 0ms, expect: {full_isr: a}}", brokers=3)

    assert found(verdict) == []
    assert story(verdict)[0] == "played: What the steps say."
    ended_ms = next(line.at_ms for line in verdict.story if line.text == "faults end")
    assert ended_ms < 100


def test_what_clients_did_is_counted_and_kept() -> None:
    kept: list[History] = []
    heard: list[StoryLine] = []
    plan = plan_of(
        "- until: {count: {workload: reader, what: read, at_least: 5}}",
        rest="workloads: [{name: w, topic: a}, {name: reader, topic: a, kind: consume}]",
    )
    loop = SimLoop(0)

    async def run() -> None:
        cluster = SimClusterInstance(SimCluster(loop, simulated_spec(plan.cluster)))
        verdict = await run_plan(
            plan, cluster, chance=random.Random(0), show=heard.append, keep_history=kept.append
        )
        assert verdict.is_ok
        assert verdict.read >= 5
        assert verdict.acknowledged >= 5
        assert list(verdict.story) == heard

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(run())
    (history,) = kept
    functions = [operation.function for operation in history]
    assert Function.SEND in functions
    assert Function.CREATE_TOPIC in functions


def test_a_topic_that_cannot_be_created_ends_the_run() -> None:
    plan = plan_of("- wait: 1s")
    wrong = replace(plan.cluster.topics[0], replication_factor=9, assignment=())
    plan = replace(plan, cluster=replace(plan.cluster, topics=(wrong,)))
    loop = SimLoop(0)

    async def run() -> None:
        cluster = SimClusterInstance(SimCluster(loop, simulated_spec(plan.cluster)))
        verdict = await run_plan(plan, cluster, chance=random.Random(0))
        (told,) = found(verdict)
        assert "INVALID_REPLICATION_FACTOR" in told
        assert "wait" not in " ".join(story(verdict))

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(run())


def test_times_of_violations_count_from_when_the_story_began() -> None:
    verdict = play("- {at: 3s, expect: {topic_exists: no-such-topic}}")

    assert [violation.at_us // 100_000 for violation in verdict.violations] == [30]
