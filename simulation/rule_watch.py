"""Watches which outcomes the rules of the pure rooms have, in a process that imports them marked.

It must be told to before anything imports those rooms, so it imports none of them itself; a fresh
process for it comes from ``simulation.sweep``. Stories are the same with it and without.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Final, TypeVar

import broker
import controller
from simulation.core.rules import MARK, RuleOutcome, outcomes_of, watched

T = TypeVar("T")
_PACKAGES: Final = (broker, controller)
_seen = bytearray()


class AlreadyImportedError(Exception):
    """A room was imported before anybody watched; the text names the module."""


@cache
def all_outcomes() -> tuple[RuleOutcome, ...]:
    """Return the outcomes of all rules that are watched, in a fixed order."""
    return tuple(each for name, path in _modules().items() for each in outcomes_in(name, path))


@cache
def outcomes_in(module: str, path: Path) -> tuple[RuleOutcome, ...]:
    """Return the outcomes of one module; they are named as in the repository, wherever it lies."""
    package = module.partition(".core.")[0]
    shown = module.removeprefix(f"{package.rpartition('.')[0]}.")
    return tuple(outcomes_of(shown, path.read_text(encoding="utf-8")))


def watch() -> None:
    """Let every room be imported with its marks from now on, in this process.

    Raises:
        AlreadyImportedError: one is here without.
    """
    for name in _modules():
        if name in sys.modules:
            raise AlreadyImportedError(f"{name} was imported before it could be watched")
    _seen[:] = bytes(len(all_outcomes()))
    sys.meta_path.insert(0, _Finder())


def outcomes_seen() -> bytes:
    """Return a byte for each outcome, 1 where it was seen since the last call, and forget them."""
    seen = bytes(_seen)
    _seen[:] = bytes(len(_seen))
    return seen


def _mark(index: int, value: T) -> T:
    _seen[index + bool(value)] = 1
    return value


@cache
def _modules() -> dict[str, Path]:
    """Return the modules of the pure rooms, by their dotted names, in order."""
    found: dict[str, Path] = {}
    for package in _PACKAGES:
        assert package.__file__ is not None
        folder = Path(package.__file__).parent / "core"
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            if parts[-1] != "__init__":
                found[".".join((package.__name__, "core", *parts))] = path
    return found


def _first_of(module: str) -> int:
    before = 0
    for name, path in _modules().items():
        if name == module:
            break
        before += len(outcomes_in(name, path))
    return before


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the rooms' modules, and nothing else."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a module of the rooms, to be loaded with marks; None for all others."""
        if fullname not in _modules():
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None:
            spec.loader = _Loader(fullname, str(_modules()[fullname]))
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles a module with its marks; nothing of that is kept on the disk."""

    def get_code(self, fullname: str) -> CodeType:
        """Compile the source with its marks."""
        text = Path(self.path).read_text(encoding="utf-8")
        tree = watched(fullname, text, _first_of(fullname))
        return compile(tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, which finds the function that its marks call."""
        setattr(module, MARK, _mark)
        super().exec_module(module)
