"""Finds scenario files, those that come with jbodlab and the user's own. Runs none."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import simulation
from jbodlab.errors import ExitCode, LabError
from protocol.cluster_file.text import read_text_file
from simulation.core.plan import Plan
from simulation.core.plan_document import PlanError, parse_plan

SUFFIX = ".yaml"


def shipped_files() -> list[Path]:
    """Return the scenario files that come with jbodlab, in the order of their names."""
    return _files_in("scenarios")


def story_files() -> list[Path]:
    """Return the scenario files that ``swap-matrix`` crashes, in the order of their names."""
    return _files_in("stories")


def load_story(name: str) -> Plan:
    """Return the plan of a file, or of a story by its name; as ``load_plan``."""
    files = story_files()
    return _load(_file(name, files, f"there are {', '.join(file.stem for file in files)}"))


def load_plan(name: str) -> Plan:
    """Return the plan of a file, or of a shipped one by its name without ``.yaml``.

    Raises:
        LabError: BAD_CONFIG: there is no such file, or it holds mistakes, all of which are told.
    """
    return _load(_file(name, shipped_files(), "see `jbodlab scenario list`"))


def _load(file: Path) -> Plan:
    try:
        text = read_text_file(file)
    except ValueError as error:
        raise LabError(ExitCode.BAD_CONFIG, f"{file} {error}") from error
    try:
        return parse_plan(text, source=str(file))
    except PlanError as error:
        raise LabError(ExitCode.BAD_CONFIG, str(error)) from error


def _files_in(folder: str) -> list[Path]:
    return sorted(Path(str(resources.files(simulation) / folder)).glob(f"*{SUFFIX}"))


def _file(name: str, files: Sequence[Path], where: str) -> Path:
    given = Path(name)
    if given.suffix == SUFFIX or given.exists():
        return given
    shipped = {file.stem: file for file in files}
    if name in shipped:
        return shipped[name]
    close = difflib.get_close_matches(name, shipped, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise LabError(
        ExitCode.BAD_CONFIG,
        f"no scenario is called {name}: {hint}{where}, or name a file",
    )
