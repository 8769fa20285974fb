"""Runs plans in either world and returns their verdicts. Prints nothing."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Callable
from pathlib import Path

from jbodlab.errors import ExitCode, LabError
from jbodlab.worlds.node_logs import node_logs
from jbodlab.worlds.real_stage import RealStage
from simulation.core.capability import why_not
from simulation.core.plan import Plan, World
from simulation.core.verdict import StoryLine, Verdict
from simulation.run.runner import CannotRunError, run_plan
from simulation.run.simulated import NOBODY, Audience, run_simulated
from simulation.stage import StageError


def run_scenario(
    plan: Plan,
    world: World,
    seed: int,
    *,
    folder: Path | None = None,
    log_file: Path | None = None,
    audience: Audience = NOBODY,
) -> Verdict:
    """Run ``plan``.

    Args:
        plan: as it was read.
        world: in which.
        seed: of all chance in a simulated world; in the real one of what workloads choose.
        folder: where real processes keep everything; None: in one that is removed afterwards.
        log_file: gets what the nodes of a simulated world log; without it nobody does.
        audience: is told of it while it goes on.

    Raises:
        LabError: USAGE when it cannot run in this world, FAILED when the cluster does not start.
    """
    reason = why_not(plan, world)
    if reason is not None:
        where = "real processes" if world == "real" else "a simulated world"
        raise LabError(ExitCode.USAGE, f"{plan.name} does not run in {where}: {reason}")
    try:
        if world == "simulated":
            with node_logs(log_file):
                return run_simulated(plan, seed, audience)
        return _run_real(plan, seed, folder, audience.show)
    except CannotRunError as error:
        raise LabError(ExitCode.USAGE, str(error)) from error
    except StageError as error:
        raise LabError(ExitCode.FAILED, str(error)) from error


def _run_real(
    plan: Plan, seed: int, folder: Path | None, show: Callable[[StoryLine], None] | None
) -> Verdict:
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="jbodlab-") as name:
            return _run_real(plan, seed, Path(name), show)
    stage = RealStage(plan.cluster, folder)
    return asyncio.run(run_plan(plan, stage, chance=random.Random(seed), show=show))
