"""The programs of docs/guide/programs lose no record while the disk under a leader dies."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from jbodlab.processes.lab_spec import LabShape
from tests.clients.builds import (
    FOLDER,
    NotRunError,
    build,
    java_program,
    node_program,
    tool,
)
from tests.integration.labs import FAST, PATIENT_MS, Lab, running_lab
from tests.integration.typed import typed

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "docs" / "guide" / "programs"
BUILD_DIR = ROOT / "build" / "clients"
SHAPE = LabShape(
    configs=FAST | {"group.initial.rebalance.delay.ms": "500"}, session_timeout_ms=PATIENT_MS
)


def go(folder: Path) -> list[str]:
    """Compile with the modules that the report card's programs stand on."""
    for name in ("go.mod", "go.sum"):
        shutil.copy(FOLDER / "go" / name, folder)
    shutil.copy(PROGRAMS / "survive.go", folder)
    build(tool("go"), "build", "-o", "survive", "survive.go", folder=folder)
    return [str(folder / "survive")]


def java(folder: Path) -> list[str]:
    """Compile against the jars of the report card."""
    java, *_ = java_program("4.3.1", BUILD_DIR)
    libs = BUILD_DIR / "java-4.3.1" / "libs"
    source = str(PROGRAMS / "Survive.java")
    build(tool("javac"), "-d", str(folder), "-cp", f"{libs}/*", source, folder=folder)
    return [java, "-Xmx256m", "-cp", f"{folder}{os.pathsep}{libs}/*", "Survive"]


def javascript(folder: Path) -> list[str]:
    """Put it beside the packages of the report card."""
    node, main = node_program("kafkajs", BUILD_DIR)
    os.symlink(Path(main).parent / "node_modules", folder / "node_modules")
    return [node, str(shutil.copy(PROGRAMS / "survive.js", folder))]


@pytest.fixture
def lab(tmp_path: Path) -> Generator[Lab]:
    with running_lab(tmp_path / "lab", SHAPE) as lab:
        yield lab


@pytest.mark.sampled_among("programs of the guide", kept=0)
@pytest.mark.parametrize("prepare", [go, java, javascript])
def test_a_program_loses_nothing_on_a_disk_that_fails_halfway(
    prepare: Callable[[Path], list[str]], lab: Lab, tmp_path: Path
) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    BUILD_DIR.mkdir(parents=True, exist_ok=True)
    try:
        program = prepare(folder)
    except NotRunError as error:
        pytest.skip(f"the program cannot be built here: {error}")
    lab.create("orders", 6)
    leader = lab.partition("orders").leader
    path = lab.log_dir_of(leader, "orders").path
    fail = ["log-dirs", "fail", path, "--config", str(lab.cluster.config_path)]

    words = [*program, ",".join(lab.servers), sys.executable, "-m", "jbodlab", *fail]
    said = typed(folder, words).stdout

    assert f"broker {leader}: {path} now fails with eio" in said
    assert said.splitlines()[-1].endswith("acknowledged, 0 lost, 0 twice")
    assert lab.offline_dirs(leader) == [path]


@pytest.mark.sampled_among("programs of the guide", kept=0)
def test_the_program_in_python_loses_nothing_on_a_disk_of_its_own_cluster(tmp_path: Path) -> None:
    said = typed(tmp_path, [sys.executable, str(PROGRAMS / "survive.py")]).stdout
    assert said.splitlines()[-1] == "2000 acknowledged, 0 lost, 0 twice"
