"""Where a mutant can be noticed at all: the statement in which it is, or those that read it.

A constant is made while its module is imported, by every case: what tells cases apart is who reads
it. Whoever does not run such a statement behaves as without the mutant. Tests that import constants
are not looked for.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from tests.mutation_testing.notes import Spot
from tests.mutation_testing.planting import ROOT, Mutant

PACKAGES: Final = ("broker", "controller", "protocol", "simulation", "jbodlab")
"""What a case depends on."""
Place = tuple[str, Spot]
"""A file, from the root of the repository, and what is to be noted there."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def places_of(mutant: Mutant, root: Path = ROOT) -> tuple[Place, ...] | None:
    """Return the places of which one has to run; None where nobody knows, as in a class's body."""
    if not mutant.is_at_import:
        return ((mutant.path, f"{mutant.lines.start} {mutant.operator} {mutant.occurrence}"),)
    if (name := _constant(root / mutant.path, mutant.lines.start)) is None:
        return None
    return _readers(name, mutant.path, root)


def spots_by_file(mutants: Iterable[Mutant], root: Path = ROOT) -> dict[str, list[Spot]]:
    """Return the places of all of these, by file."""
    places = {place for mutant in mutants for place in places_of(mutant, root) or ()}
    found: dict[str, list[Spot]] = {}
    for path, spot in sorted(places):
        found.setdefault(path, []).append(spot)
    return found


def _constant(file: Path, line: int) -> str | None:
    """Return the name that a module's statement gives to a value."""
    for statement in _tree(file).body:
        if statement.lineno == line and isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if len(targets) == 1 and isinstance(target := targets[0], ast.Name):
                return target.id
    return None


@cache
def _readers(name: str, path: str, root: Path) -> tuple[Place, ...] | None:
    """Return the statements of functions that read a constant of a file.

    None if one reads it while its module is imported.
    """
    found: list[Place] = []
    for file in (root / path, *_importing(name, path, root)):
        for line in _reading(_tree(file), name, in_function=False):
            if line is None:
                return None
            found.append((file.relative_to(root).as_posix(), str(line)))
    return tuple(dict.fromkeys(found))


def _importing(name: str, path: str, root: Path) -> Iterator[Path]:
    module = path.removesuffix(".py").replace("/", ".")
    for package in PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            if re.search(rf"\b{name}\b", file.read_text(encoding="utf-8")) and any(
                isinstance(node, ast.ImportFrom)
                and node.module == module
                and any(each.name == name for each in node.names)
                for node in ast.walk(_tree(file))
            ):
                yield file


def _reading(node: ast.AST, name: str, *, in_function: bool, line: int = 0) -> Iterator[int | None]:
    for field, value in ast.iter_fields(node):
        is_in = in_function or (isinstance(node, _Function) and field == "body")
        for child in _nodes(value):
            begin = child.lineno if isinstance(child, ast.stmt) else line
            if _reads(child, name):
                yield begin if is_in else None
            yield from _reading(child, name, in_function=is_in, line=begin)


def _nodes(value: Any) -> Iterator[ast.AST]:
    parts: list[Any] = [*value] if isinstance(value, list) else [value]
    return (part for part in parts if isinstance(part, ast.AST))


def _reads(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Name):
        return node.id == name and isinstance(node.ctx, ast.Load)
    return isinstance(node, ast.Attribute) and node.attr == name


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))
