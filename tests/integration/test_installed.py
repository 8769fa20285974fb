"""The wheel, installed beside a project whose modules have our packages' names: all of it works.

On other Pythons it is installed with its libraries in an empty environment, as a user installs it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Generator, Mapping
from pathlib import Path

import pytest

from analytics.cache import cache_folder
from jbodlab.errors import ExitCode
from jbodlab.processes.cluster import Cluster
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from tests.deadlines import DEADLINE_S
from tests.integration.labs import FAST

ROOT = Path(__file__).parents[2]
STEP_DEADLINE_S = 5 * DEADLINE_S
"""Spark, and building a wheel, take long on a busy machine."""
MODULES = ("analytics", "broker", "conformance", "controller", "protocol", "simulation")
PIP = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
SEED = ("simulate", "--seed", "3", "--seconds", "2", "--json")


class Installed:
    """The wheel in a virtual environment of its own, without the repository."""

    def __init__(self, folder: Path, *, libraries: str | None) -> None:
        """Have libraries found in the folder ``libraries``; None: in its own environment."""
        self._venv, self._empty = folder / "venv", folder / "empty"
        self._empty.mkdir()
        (folder / "project").mkdir()
        for name in MODULES:
            own = f"raise ImportError('this is the {name} of the user')\n"
            (folder / "project" / f"{name}.py").write_text(own)
        # Libraries only: what .pth files say, such as where the repository is, does not hold there.
        path = [folder / "project", *([] if libraries is None else [libraries])]
        own = {"PYTHONPATH": os.pathsep.join(map(str, path)), "HOME": str(folder)}
        # Java's classes are kept once for all reports of this Spark, which takes it a minute.
        kept = {"XDG_CACHE_HOME": str(cache_folder().parent)}
        self._environment = {**os.environ, **own, **kept}

    def install(self) -> None:
        """Install the wheel alone on this Python."""
        folder = self._venv.parent
        self._do([sys.executable, "-m", "venv", "--without-pip", str(self._venv)], folder)
        python = ["--python", str(self._venv / "bin" / "python")]
        wheel = str(self._wheel())
        self._do([*PIP, *python, "install", "--no-deps", "--no-index", wheel], folder)

    def install_on(self, python: str) -> None:
        """Install the wheel and its libraries on another Python."""
        folder = self._venv.parent
        uv = str(Path(sysconfig.get_path("scripts")) / "uv")
        self._do([uv, "venv", "--python", python, str(self._venv)], folder)
        there = str(self._venv / "bin" / "python")
        self._do([uv, "pip", "install", "--python", there, str(self._wheel())], folder)

    def install_by_pipx(self) -> None:
        """Install the wheel as `pipx install` does: a command in an environment of its own."""
        folder = self._venv.parent
        home = {"PIPX_HOME": str(folder / "pipx"), "PIPX_BIN_DIR": str(self._venv / "bin")}
        uv = Path(sysconfig.get_path("scripts")) / "uv"
        pipx = [str(uv), "tool", "run", "--python", sys.executable, "pipx"]
        wheel = str(self._wheel())
        self._do([*pipx, "install", "--python", sys.executable, wheel], folder, home)

    def _wheel(self) -> Path:
        build = ["wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", "wheels"]
        folder = self._venv.parent
        self._do([*PIP, *build, str(ROOT)], folder)
        (wheel,) = (folder / "wheels").iterdir()
        return wheel

    def _do(self, command: list[str], folder: Path, env: Mapping[str, str] | None = None) -> None:
        subprocess.run(
            command,
            cwd=folder,
            env=os.environ | dict(env or {}),
            check=True,
            capture_output=True,
            timeout=STEP_DEADLINE_S,
        )

    def run(self, *words: str) -> str:
        """Return what ``jbodlab`` prints, called in an empty folder."""
        done = self.called(*words)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    def called(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Call ``jbodlab`` in an empty folder."""
        return subprocess.run(
            [str(self._venv / "bin" / "jbodlab"), *words],
            cwd=self._empty,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=STEP_DEADLINE_S,
        )


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    here = Installed(tmp_path, libraries=sysconfig.get_path("purelib"))
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


def an_interpreter(version: str) -> str:
    """Return an interpreter of a version, found as `.ci/run` finds it."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [shutil.which(f"python{version}"), *pyenv.glob(f"versions/{version}.*/bin/python")]
    for python in filter(None, found):  # A shim of pyenv is there, and may lead nowhere.
        if subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0:
            return str(python)
    pytest.skip(f"Python {version} is not installed on this machine")


@pytest.mark.sampled_among("the longest stories in processes of their own", kept=1)
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_package_installs_and_works_on_every_python_that_it_promises(
    version: str, tmp_path: Path, config: Path
) -> None:
    installed = Installed(tmp_path, libraries=None)
    installed.install_on(an_interpreter(version))
    assert installed.run("--version").startswith("jbodlab, version ")
    cluster = ("--config", str(config))
    installed.run("up", *cluster)
    installed.run("topics", "create", "orders", "--partitions", "3", *cluster)
    installed.run("topics", "fill", "orders", "--mib", "1", *cluster)
    told = installed.run("consume", "orders", "--from-beginning", "--count", "1", *cluster)
    assert told.strip()
    status = json.loads(installed.run("status", "--json", *cluster))
    assert [each["running"] for each in status["processes"]] == [True] * 4
    installed.run("down", *cluster)
    assert trace(installed.run(*SEED)) == trace(run_in_the_repository(*SEED))


@pytest.mark.sampled_among("the longest stories in processes of their own", kept=1)
def test_pipx_installs_the_command_and_it_says_how_to_get_spark(
    tmp_path: Path, config: Path
) -> None:
    installed = Installed(tmp_path, libraries=None)
    installed.install_by_pipx()
    assert installed.run("--version").startswith("jbodlab, version ")
    cluster = ("--config", str(config))
    installed.run("up", *cluster)
    status = json.loads(installed.run("status", "--json", *cluster))
    assert [each["running"] for each in status["processes"]] == [True] * 4
    refused = installed.called("report", *cluster)
    installed.run("down", *cluster)
    assert refused.returncode == ExitCode.MISSING_PACKAGE
    assert "pip install 'jbodlab[analytics]'" in refused.stderr
    assert "pipx inject jbodlab 'pyspark>=4'" in refused.stderr


def run_in_the_repository(*words: str) -> str:
    command = [sys.executable, "-m", "jbodlab", *words]
    done = subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, timeout=STEP_DEADLINE_S
    )
    return done.stdout.decode()


def trace(text: str) -> str:
    return json.loads(text)["trace_hash"]
