"""Finds experiments, those that come with jbodlab and the user's own. Runs none."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from pathlib import Path

import simulation
from jbodlab.errors import ExitCode, LabError
from protocol.cluster_file.text import read_text_file
from simulation.core.experiment import Experiment, parse_experiment
from simulation.core.plan_document import PlanError
from simulation.simulated_run import draw_streams


def shipped_experiments() -> dict[str, Path]:
    """Return the experiments that come with jbodlab, by name."""
    folder = Path(str(resources.files(simulation) / "experiments"))
    return {file.stem: file for file in sorted(folder.glob("*.yaml"))}


@lru_cache
def load_experiment(name: str) -> Experiment:
    """Return the experiment in a file, or a shipped one by its name.

    Raises:
        LabError: BAD_CONFIG: there is no such file, or it holds mistakes, all of which are told.
    """
    file = shipped_experiments().get(name, Path(name))
    if not file.is_file():
        known = ", ".join(shipped_experiments())
        raise LabError(
            ExitCode.BAD_CONFIG,
            f"no experiment is called {name}: there are {known}, or name a file",
        )
    try:
        text = read_text_file(file)
        return parse_experiment(text, source=str(file), streams=draw_streams(0))
    except PlanError as error:
        raise LabError(ExitCode.BAD_CONFIG, str(error)) from error
    except ValueError as error:
        raise LabError(ExitCode.BAD_CONFIG, f"{file} {error}") from error
