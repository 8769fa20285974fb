"""Runs plans in either world, and tells what came of it. Prints nothing."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from jbodlab.errors import ExitCode, LabError
from jbodlab.worlds.node_logs import node_logs
from jbodlab.worlds.real_cluster_instance import RealClusterInstance
from simulation.cluster_instance import ClusterInstanceError
from simulation.core.capability import why_not
from simulation.core.coverage import Transition
from simulation.core.plan import Plan, World
from simulation.core.verdict import StoryLine, Verdict
from simulation.run.runner import CannotRunError, run_plan
from simulation.simulated_run import Options, SimulatedRun, simulate


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioRun:
    """One plan that ran in one world."""

    verdict: Verdict
    transitions: Mapping[Transition, int] = field(default_factory=dict[Transition, int])
    """Of the state machines of controller and brokers; of real processes none."""


def run_scenario(
    plan: Plan,
    world: World,
    seed: int,
    *,
    folder: Path | None = None,
    log_file: Path | None = None,
    show: Callable[[StoryLine], None] | None = None,
) -> ScenarioRun:
    """Run ``plan``.

    Args:
        plan: as it was read.
        world: in which.
        seed: of all chance in a simulated world; in the real one of what workloads choose.
        folder: where real processes keep everything; None: in one that is removed afterwards.
        log_file: gets what the nodes of a simulated world log; without it nobody does.
        show: hears every line of the story when it happens.

    Raises:
        LabError: USAGE when it cannot run in this world, FAILED when the cluster does not start.
    """
    if world == "simulated":
        run = run_simulated(plan, seed, Options(show=show), log_file)
        return ScenarioRun(verdict=run.verdict, transitions=run.transitions)
    with _refusals(plan, world):
        return ScenarioRun(verdict=_run_real(plan, seed, folder, show))


def run_simulated(
    plan: Plan, seed: int, options: Options, log_file: Path | None = None
) -> SimulatedRun:
    """Run ``plan`` in a simulated world.

    Raises:
        LabError: as ``run_scenario``.
    """
    with _refusals(plan, "simulated"), node_logs(log_file):
        return simulate(plan, seed, options)


@contextmanager
def _refusals(plan: Plan, world: World) -> Generator[None]:
    reason = why_not(plan, world)
    if reason is not None:
        where = "real processes" if world == "real" else "a simulated world"
        raise LabError(ExitCode.USAGE, f"{plan.name} does not run in {where}: {reason}")
    try:
        yield
    except CannotRunError as error:
        raise LabError(ExitCode.USAGE, str(error)) from error
    except ClusterInstanceError as error:
        raise LabError(ExitCode.FAILED, str(error)) from error


def _run_real(
    plan: Plan, seed: int, folder: Path | None, show: Callable[[StoryLine], None] | None
) -> Verdict:
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="jbodlab-") as name:
            return _run_real(plan, seed, Path(name), show)
    instance = RealClusterInstance(plan.cluster, folder)
    return asyncio.run(run_plan(plan, instance, chance=random.Random(seed), show=show))
