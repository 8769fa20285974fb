"""Notes which of some statements a process runs: a note is put before each, and nothing is traced.

All other code is as fast as without. Nothing is written to a source file.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

from tests.mutation_testing.planting import ROOT

Places = Mapping[str, Sequence[int]]
"""File, from the root of the repository -> lines in which statements begin."""
_NOTE: Final = "_note_that_this_ran_"


class Probes:
    """Statements of modules that are still to be imported, and which of them ran."""

    def __init__(self, places: Places, root: Path = ROOT) -> None:
        self._places = {str(root / path): (path, lines) for path, lines in places.items()}
        self._ran: set[tuple[str, int]] = set()
        names = [path.removesuffix(".py").replace("/", ".") for path in places]
        for name in names:
            assert name not in sys.modules, f"{name} is in use"
        sys.meta_path.insert(0, _Finder(names, self))

    def take(self) -> dict[str, list[int]]:
        """Return the places that were run since this was asked last."""
        found: dict[str, list[int]] = {}
        for path, line in sorted(self._ran):
            found.setdefault(path, []).append(line)
        self._ran.clear()
        return found

    def code(self, source: bytes, file: str) -> CodeType:
        """Return the code of a file with its notes."""
        _, lines = self._places[file]
        return compile(with_notes(source, lines), file, "exec")

    def note_in(self, module: ModuleType, file: str) -> None:
        """Give a module what its notes call."""
        path, _ = self._places[file]

        def note(line: int) -> None:
            self._ran.add((path, line))

        module.__dict__[_NOTE] = note


def with_notes(source: bytes | str, lines: Iterable[int]) -> ast.Module:
    """Return a module with a note before each statement that begins in a line, or has it in it."""
    tree = ast.parse(source)
    blocks = list(_blocks(tree))
    for line in sorted(lines, reverse=True):
        begins = [
            (statement.lineno, block, statement)
            for block in blocks
            for statement in block
            if statement.lineno <= line <= (statement.end_lineno or 0)
        ]
        assert begins, f"no statement is in line {line}"
        innermost = max(begin for begin, _, _ in begins)
        _, block, statement = next(each for each in begins if each[0] == innermost)
        call = ast.Call(ast.Name(_NOTE, ast.Load()), [ast.Constant(line)], [])
        note = ast.copy_location(ast.Expr(call), statement)
        block.insert(_index_of(statement, block), ast.fix_missing_locations(note))
    return tree


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block: Any = getattr(node, name, None)
            if isinstance(block, list):
                yield block


def _index_of(statement: ast.stmt, block: Sequence[ast.stmt]) -> int:
    return next(number for number, each in enumerate(block) if each is statement)


class _Finder(MetaPathFinder):
    def __init__(self, names: Iterable[str], probes: Probes) -> None:
        self._names = frozenset(names)
        self._probes = probes

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._names:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        assert spec is not None, f"{fullname} is no module"
        assert spec.origin is not None, f"{fullname} has no file"
        spec.loader = _Loader(fullname, spec.origin, self._probes)
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, name: str, file: str, probes: Probes) -> None:
        super().__init__(name, file)
        self._probes = probes

    def get_code(self, fullname: str) -> CodeType:
        return self._probes.code(self.get_data(self.path), self.path)

    def exec_module(self, module: ModuleType) -> None:
        self._probes.note_in(module, self.path)
        super().exec_module(module)
