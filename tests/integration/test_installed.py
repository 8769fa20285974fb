"""The wheel, installed beside a project whose modules have our packages' names: all of it works."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Generator
from pathlib import Path

import pytest

from jbodlab.processes.cluster import Cluster
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from tests.deadlines import DEADLINE_S
from tests.integration.labs import FAST

ROOT = Path(__file__).parents[2]
STEP_DEADLINE_S = 5 * DEADLINE_S
"""Spark, and building a wheel, take long on a busy machine."""
MODULES = ("analytics", "broker", "controller", "protocol", "simulation")
SEED = ("simulate", "--seed", "3", "--seconds", "2", "--json")


class Installed:
    """The wheel in a virtual environment of its own, without the repository."""

    def __init__(self, folder: Path) -> None:
        self._venv, self._empty = folder / "venv", folder / "empty"
        self._empty.mkdir()
        (folder / "project").mkdir()
        for name in MODULES:
            own = f"raise ImportError('this is the {name} of the user')\n"
            (folder / "project" / f"{name}.py").write_text(own)
        # Libraries only: what .pth files say, such as where the repository is, does not hold there.
        path = [folder / "project", sysconfig.get_path("purelib")]
        own = {"PYTHONPATH": os.pathsep.join(map(str, path)), "HOME": str(folder)}
        self._environment = {**os.environ, **own}

    def install(self) -> None:
        pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
        build = [
            "wheel",
            "--no-deps",
            "--no-index",
            "--no-build-isolation",
            "-w",
            "wheels",
            str(ROOT),
        ]
        folder = self._venv.parent
        self._do([sys.executable, "-m", "venv", "--without-pip", str(self._venv)], folder)
        self._do([*pip, *build], folder)
        (wheel,) = (folder / "wheels").iterdir()
        python = ["--python", str(self._venv / "bin" / "python")]
        self._do([*pip, *python, "install", "--no-deps", "--no-index", str(wheel)], folder)

    def _do(self, command: list[str], folder: Path) -> None:
        subprocess.run(
            command, cwd=folder, check=True, capture_output=True, timeout=STEP_DEADLINE_S
        )

    def run(self, *words: str) -> str:
        """Return what ``jbodlab`` prints, called in an empty folder."""
        done = subprocess.run(
            [str(self._venv / "bin" / "jbodlab"), *words],
            cwd=self._empty,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=STEP_DEADLINE_S,
        )
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    here = Installed(tmp_path)
    here.install()
    return here


@pytest.fixture
def config(tmp_path: Path) -> Generator[Path]:
    """A cluster file, and nothing left running afterwards."""
    (tmp_path / "lab").mkdir()
    file = write_lab_spec(tmp_path / "lab", LabShape(configs=FAST))
    yield file
    Cluster(file).stop()


@pytest.mark.sampled_among("the longest stories in processes of their own", kept=1)
def test_the_installed_package_works_beside_modules_of_the_same_names(
    installed: Installed, config: Path
) -> None:
    assert installed.run("--version").startswith("jbodlab, version ")
    assert "simulate" in installed.run("--help")
    cluster = ("--config", str(config))
    installed.run("up", *cluster)
    installed.run("topics", "create", "orders", "--partitions", "3", *cluster)
    installed.run("topics", "fill", "orders", "--mib", "1", *cluster)
    status = json.loads(installed.run("status", "--json", *cluster))
    assert [each["running"] for each in status["processes"]] == [True] * 4
    assert [each["topic"] for each in status["partitions"]] == ["orders"] * 3
    assert json.loads(installed.run("scenario", "list", "--json"))
    installed.run("simulate", "--seeds", "1..2", "--jobs", "2", "--seconds", "1")
    if shutil.which("java"):
        assert json.loads(installed.run("report", "--json", *cluster))
    installed.run("down", *cluster)
    assert trace(installed.run(*SEED)) == trace(run_in_the_repository(*SEED))


def run_in_the_repository(*words: str) -> str:
    command = [sys.executable, "-m", "jbodlab", *words]
    done = subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, timeout=STEP_DEADLINE_S
    )
    return done.stdout.decode()


def trace(text: str) -> str:
    return json.loads(text)["trace_hash"]
