"""Runs a plan in a simulated world of its own: one seed, one story."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final, NamedTuple

from protocol.cluster_file.spec import ClusterSpec, parse_cluster_spec
from protocol.witness import Witness, unwitnessed
from simulation.core.cluster_text import cluster_text, port_count
from simulation.core.plan import ClusterPlan, Plan
from simulation.core.verdict import StoryLine, Verdict
from simulation.run.runner import run_plan
from simulation.world.cluster import SimCluster
from simulation.world.foreign_clocks import foreign_clocks
from simulation.world.garbage import garbage_of_one_world
from simulation.world.loop import SimLoop
from simulation.world.sim_stage import SimStage

BASE_DIR: Final = Path("/world")
FIRST_PORT: Final = 9000


def simulated_spec(cluster: ClusterPlan) -> ClusterSpec:
    """Return the cluster of a plan on the ports and paths that it has in every world."""
    ports = range(FIRST_PORT, FIRST_PORT + port_count(cluster))
    return parse_cluster_spec(cluster_text(cluster, ports), base_dir=BASE_DIR, source="plan")


class Audience(NamedTuple):
    """Who is told of a run while it goes on."""

    show: Callable[[StoryLine], None] | None = None
    """Hears every line of the story when it happens."""
    witness: Witness = unwitnessed
    """Is told every move of the state machines of controller and brokers; of real ones none."""


NOBODY: Final = Audience()


def run_simulated(plan: Plan, seed: int, audience: Audience = NOBODY) -> Verdict:
    """Run ``plan`` in the world of ``seed``; whatever chance decides there comes from it.

    Raises:
        CannotRunError, StageError: as ``run_plan``.
    """
    with garbage_of_one_world():
        return _run_in(SimLoop(seed), plan, audience)


def _run_in(loop: SimLoop, plan: Plan, audience: Audience) -> Verdict:
    async def run() -> Verdict:
        stage = SimStage(SimCluster(loop, simulated_spec(plan.cluster), witness=audience.witness))
        chance = loop.chance.stream("workloads")
        return await run_plan(plan, stage, chance=chance, show=audience.show)

    with asyncio.Runner(loop_factory=lambda: loop) as runner, libraries_of(plan, loop):
        return runner.run(run())


def libraries_of(plan: Plan, loop: SimLoop) -> AbstractContextManager[None]:
    """Return the context in which the client libraries of ``plan`` live in the world of a loop."""
    if any(workload.client == "aiokafka" for workload in plan.workloads):
        return foreign_clocks(loop)
    return nullcontext()
