"""Which files of tests could run a module at all: those that import it, by others or themselves.

It imports none of them. What a file gets by name alone (data, modules named by strings) it does not
see; a mutant that only such a file would find survives, and is told.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

import grimp

from tests.mutation_testing.places import PACKAGES
from tests.mutation_testing.planting import ROOT

FOLDERS: Final = ("broker", "controller", "simulation", "mutations", "crash", "properties", "jbod")
"""Folders of tests that run what they test in their own process."""
_MORE: Final = ("analytics", "benchmarks", "conformance")
"""Packages that tests import beside what cases depend on."""


class Importers:
    """What files of tests import, as the code is now."""

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root
        packages = ("tests", *PACKAGES, *_MORE)
        here = [name for name in packages if (root / name / "__init__.py").exists()]
        self._graph = grimp.build_graph(*here, cache_dir=None)
        self._digests: dict[str, bytes] = {}

    def of(self, paths: Iterable[str]) -> list[str]:
        """Return the files of tests that import one of some source files, sorted by folder."""
        modules = {_module(path) for path in paths}
        return [test for test in self._tests() if not modules.isdisjoint(self._imported(test))]

    def digest(self, test: str) -> str:
        """Return what changes with a file of tests and with all that it imports."""
        digest = hashlib.sha256()
        for module in sorted(self._imported(test)):
            digest.update(self._digest(module))
        return digest.hexdigest()[:16]

    def _tests(self) -> Iterator[str]:
        for folder in FOLDERS:
            for file in sorted((self._root / "tests" / folder).rglob("test_*.py")):
                yield file.relative_to(self._root).as_posix()

    @cache  # noqa: B019 - there is one of these in a process
    def _imported(self, test: str) -> frozenset[str]:
        """Return the modules that a file imports, by its own fixtures as well; itself is one."""
        words = set(re.findall(r"\w+", (self._root / test).read_text(encoding="utf-8")))
        begun = [_module(test)]
        for folder in Path(test).parents:
            conftest = self._root / folder / "conftest.py"
            if conftest.exists() and not words.isdisjoint(_functions(conftest)):
                begun.append(_module((folder / "conftest.py").as_posix()))
        known = [module for module in begun if module in self._graph.modules]
        upstream = (self._graph.find_upstream_modules(module) for module in known)
        return frozenset(known).union(*upstream)

    def _digest(self, module: str) -> bytes:
        if module not in self._digests:
            base = self._root / module.replace(".", "/")
            file = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
            self._digests[module] = hashlib.sha256(file.read_bytes()).digest()
        return self._digests[module]


def _module(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


def _functions(file: Path) -> list[str]:
    return re.findall(r"(?m)^(?:async )?def (\w+)", file.read_text(encoding="utf-8"))
