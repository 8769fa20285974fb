"""A wheel has one top-level package, whichever way it is built, and everything is in it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from build_backend.wheel import write_nested
from tests.archives import unpack

ROOT = Path(__file__).parents[2]
PACKAGES = ("analytics", "broker", "conformance", "controller", "protocol", "simulation", "jbodlab")


def run_hook(project: Path, hook: str, target: Path) -> Path:
    """Call a hook of the project's build backend as a build frontend does, and return its file."""
    target.mkdir()
    program = f"from build_backend import wheel; print(wheel.{hook}({str(target)!r}))"
    subprocess.run([sys.executable, "-c", program], cwd=project, check=True, capture_output=True)
    (built,) = target.iterdir()
    return built


def files_of_the_repository(*places: str) -> list[str]:
    """Return the files that are there and not ignored, as the next commit will have them."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *places]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]


def copy_of_the_repository(target: Path) -> Path:
    """Copy what a build reads: a build writes beside it, which others read meanwhile."""
    for name in files_of_the_repository(".", ":!tests", ":!benchmarks", ":!docs"):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target / name)
    return target


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Build a source distribution and of that the wheel; return its files."""
    folder = tmp_path_factory.mktemp("build")
    sdist = run_hook(copy_of_the_repository(folder / "clone"), "build_sdist", folder / "sdist")
    unpack(sdist, folder / "source")
    (project,) = (folder / "source").iterdir()
    with zipfile.ZipFile(run_hook(project, "build_wheel", folder / "wheel")) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_only_top_level_names_are_the_package_and_its_metadata(wheel: dict[str, bytes]) -> None:
    (metadata,) = {name.partition("/")[0] for name in wheel} - {"jbodlab"}
    assert metadata.startswith("jbodlab-")
    assert metadata.endswith(".dist-info")
    assert wheel[f"{metadata}/top_level.txt"].split() == [b"jbodlab"]


@pytest.mark.sampled_among("source distributions", kept=0)
def test_a_source_distribution_builds_the_wheel_of_the_repository(
    wheel: dict[str, bytes], tmp_path: Path
) -> None:
    write_nested(ROOT, tmp_path)
    nested = {
        str(file.relative_to(tmp_path)): file.read_bytes()
        for file in sorted((tmp_path / "jbodlab").rglob("*"))
        if file.is_file()
    }
    assert {name: wheel.get(name) for name in nested} == nested
    assert [name for name in wheel if name not in nested and ".dist-info/" not in name] == []


def test_every_file_of_the_packages_is_in_the_wheel(wheel: dict[str, bytes]) -> None:
    files = files_of_the_repository(*PACKAGES)
    assert len(files) > 500
    moved = [name if name.startswith("jbodlab/") else f"jbodlab/{name}" for name in files]
    assert [name for name in moved if name not in wheel] == []


def test_a_wheel_says_under_which_licence_it_comes(wheel: dict[str, bytes]) -> None:
    (metadata,) = {name.partition("/")[0] for name in wheel} - {"jbodlab"}
    assert wheel[f"{metadata}/licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()
    assert b"License-Expression: Apache-2.0" in wheel[f"{metadata}/METADATA"]


def test_a_wheel_brings_its_fixtures_to_pytest(wheel: dict[str, bytes]) -> None:
    (entry_points,) = (wheel[name] for name in wheel if name.endswith("/entry_points.txt"))
    assert b"[pytest11]\njbodlab = jbodlab.pytest_plugin" in entry_points
    assert b"from jbodlab.api import" in wheel["jbodlab/__init__.py"]
