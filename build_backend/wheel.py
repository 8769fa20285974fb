"""The project's build backend: setuptools', but a wheel has one top-level package.

In the repository `broker`, `controller`, `protocol` and the other packages lie side by side, and so
they do in a source distribution and where the project is installed with `pip install -e`. A wheel
carries `jbodlab` alone, with the others below it: a package of its user's that is called `broker`
never meets ours.
"""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Generator, Iterator, Mapping
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from setuptools import build_meta, find_packages
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
)

from build_backend.nesting import Nesting

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

ConfigSettings: TypeAlias = Mapping[str, str | list[str] | None] | None


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: ConfigSettings = None
) -> str:
    """Write the wheel's metadata. Source: PEP 517."""
    target = str(Path(metadata_directory).resolve())
    with _nested_project():
        return build_meta.prepare_metadata_for_build_wheel(target, config_settings)


def build_wheel(
    wheel_directory: str,
    config_settings: ConfigSettings = None,
    metadata_directory: str | None = None,
) -> str:
    """Write the wheel and return its name. Source: PEP 517.

    ``metadata_directory`` is not needed: the same comes out again.
    """
    del metadata_directory
    target = str(Path(wheel_directory).resolve())
    with _nested_project():
        return build_meta.build_wheel(target, config_settings)


def write_nested(project: Path, target: Path) -> None:
    """Write the project to an empty folder, its packages below the one with the project's name.

    Raises:
        NotNestableError: a source names what moves in a way that cannot be rewritten.
    """
    settings = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    outer: str = settings["project"]["name"]
    described = settings["project"]
    for name in ("pyproject.toml", described["readme"], *described.get("license-files", ())):
        shutil.copy(project / name, target / name)
    moved = [name for name in _top_level_packages(project, settings) if name != outer]
    _copy(project / outer, target / outer)
    for package in moved:
        _copy(project / package, target / outer / package)
    nesting = Nesting(outer, frozenset(_modules(project, moved)))
    for file in sorted((target / outer).rglob("*.py")):
        source = file.read_text(encoding="utf-8")
        file.write_text(nesting.nested(source, str(file.relative_to(target))), encoding="utf-8")


def _top_level_packages(project: Path, settings: dict[str, Any]) -> list[str]:
    include = settings["tool"]["setuptools"]["packages"]["find"]["include"]
    return sorted(name for name in find_packages(str(project), include=include) if "." not in name)


def _copy(package: Path, target: Path) -> None:
    """Copy a package to where nothing is yet."""
    shutil.copytree(package, target, ignore=shutil.ignore_patterns("__pycache__"))


def _modules(project: Path, packages: list[str]) -> Iterator[str]:
    """Yield the dotted names of packages and all that is in them."""
    for package in packages:
        for file in sorted((project / package).rglob("*.py")):
            path = file.relative_to(project).with_suffix("")
            yield ".".join(path.parts).removesuffix(".__init__")


@contextmanager
def _nested_project() -> Generator[None]:
    with TemporaryDirectory() as folder:
        write_nested(Path.cwd(), Path(folder))
        with chdir(folder):
            yield
