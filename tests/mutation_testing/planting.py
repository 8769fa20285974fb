# Trees of parso and operators of cosmic-ray have no types.
# pyright: basic
"""Mutants of source files: which there are, a sample of them, and one in a process that is young.

Nothing is written to a source file: a mutant lives in the process into which it was planted.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

from tests.mutation_testing.operators import OPERATORS, Position

ROOT: Final = Path(__file__).parents[2]
PLACES: Final = (
    "broker/core/**/*.py",
    "broker/coordinators/*.py",
    "controller/core/**/*.py",
    "broker/engine/**/*.py",
    "controller/app.py",
    "controller/journal.py",
    "controller/channels.py",
)
"""The rules, and the shells that put their effects in order."""
_NO_RULE: Final = ("assert_stmt", "raise_stmt", "tfpdef", "decorator", "fstring")
"""Parts of the syntax in which a change is no bug of a rule: what guards us, and what is said."""
_NO_RULE_FUNCTIONS: Final = ("__repr__", "__str__", "__init__")
_TELLS: Final = ("step.note(", "step.warn(", "log.", "_log.", "logger.", "_logger.", "self._log_")
"""Statements that tell people of something: nothing follows from them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One bug at one place of one file."""

    id: str
    """``file:function:operator:number``: it stays while only other functions change."""
    path: str
    """Of the file, from the root of the repository."""
    operator: str
    occurrence: int
    """Which of the places in the file where the operator applies."""
    rule: str
    """``file:function``; the function with its class."""
    line: int
    """From 1, where the change is."""
    lines: range
    """Of the statement that is changed, without the block below it: one of them runs, or none."""
    is_at_import: bool
    """Whether the code runs while its module is imported."""
    code: str
    """The first line of the statement."""
    digest: str
    """Of the function's code: a mutant of other code is another one, whatever its id says."""


def mutants_of(path: str, root: Path = ROOT) -> list[Mutant]:
    """Return all mutants of a file, by where they are and by operator."""
    source = (root / path).read_text(encoding="utf-8")
    tree = get_ast(source)
    nodes = list(ast_nodes(tree))
    found: list[Mutant] = []
    for name, operator_class in OPERATORS.items():
        operator = operator_class()
        positions = (each for node in nodes for each in operator.mutation_positions(node))
        numbers: Counter[str] = Counter()
        for occurrence, position in enumerate(positions):
            if (place := _place(tree, position)) is not None:
                rule = f"{path}:{place.function}"
                number = numbers[rule] = numbers[rule] + 1
                found.append(
                    Mutant(
                        id=f"{rule}:{name}:{number}",
                        path=path,
                        operator=name,
                        occurrence=occurrence,
                        rule=rule,
                        line=position[0][0],
                        lines=place.lines,
                        is_at_import=place.is_at_import,
                        code=source.splitlines()[place.lines.start - 1].strip(),
                        digest=place.digest,
                    )
                )
    return sorted(found, key=lambda mutant: (mutant.line, mutant.id))


def all_mutants(
    places: Iterable[str] = PLACES,
    root: Path = ROOT,
    *,
    within: Iterable[str] = (),
    without: Iterable[str] = (),
) -> Iterator[Mutant]:
    """Give the mutants of all files of some places.

    ``within`` are parts of paths: a file that has none of them is left out, where there are some;
    one that has any of ``without`` is left out in any case.
    """
    parts = tuple(within)
    left_out = tuple(without)
    for place in places:
        for file in sorted(root.glob(place)):
            path = file.relative_to(root).as_posix()
            is_within = not parts or any(part in path for part in parts)
            if is_within and not any(part in path for part in left_out):
                yield from mutants_of(path, root)


def sample(mutants: Iterable[Mutant], count: int, seed: int) -> list[Mutant]:
    """Draw ``count`` mutants; each is as likely as any other, whatever else there is to draw.

    What is drawn changes little when code changes, and a smaller sample is the begin of a larger.
    """

    def rank(mutant: Mutant) -> bytes:
        return hashlib.sha256(f"{seed} {mutant.id}".encode()).digest()

    return sorted(mutants, key=rank)[:count]


def mutated_source(mutant: Mutant, root: Path = ROOT) -> str:
    """Return the code of a mutant's file with the bug in it."""
    source = (root / mutant.path).read_text(encoding="utf-8")
    return mutated(source, mutant.operator, mutant.occurrence)


def mutated(source: str, operator: str, occurrence: int) -> str:
    """Return code with a bug at one of the places where an operator applies."""
    found = mutate_code(source, OPERATORS[operator](), occurrence)
    assert found is not None, f"{operator} applies at no place {occurrence}"
    return found


def plant(mutant: Mutant, root: Path = ROOT) -> None:
    """Make a mutant's module the one that this process imports; nothing may have used it before.

    Raises:
        Exception: whatever a mutant raises that cannot even be imported.
    """
    name = mutant.path.removesuffix(".py").replace("/", ".")
    assert name not in sys.modules, f"{name} is in use"
    spec = importlib.util.find_spec(name)
    assert spec is not None, f"{name} is no module"
    module = importlib.util.module_from_spec(spec)
    package, _, last = name.rpartition(".")
    sys.modules[name] = module
    setattr(sys.modules[package], last, module)
    code = compile(mutated_source(mutant, root), str(root / mutant.path), "exec")
    exec(code, module.__dict__)


@dataclass(frozen=True, slots=True)
class _Place:
    function: str
    lines: range
    is_at_import: bool
    digest: str


def _place(tree: Any, position: Position) -> _Place | None:
    """Return where in a file a position is; None where a change is no bug of a rule."""
    leaf = tree.get_leaf_for_position(position[0], include_prefixes=True)
    names: list[str] = []
    statement: Any = None
    function: Any = None
    inner = leaf
    for node in _outwards(leaf):
        if node.type in _NO_RULE or _is_annotation(node, inner):
            return None
        if statement is None and node.type in ("simple_stmt", "suite", "file_input"):
            statement = node if node.type == "simple_stmt" else inner
            if statement.get_code().strip().startswith(_TELLS):
                return None
        if node.type in ("funcdef", "classdef"):
            is_body = node.children[-1] is inner
            if node.type == "funcdef" and function is None and is_body:
                function = node
            if statement is None:
                statement = node
            names.insert(0, node.name.value)
        inner = node
    if any(name in _NO_RULE_FUNCTIONS for name in names):
        return None
    assert statement is not None, f"nothing is at {position}"
    text = (function or statement).get_code()
    return _Place(
        function=".".join(names) or "module",
        lines=range(statement.start_pos[0], _head_end(statement, position) + 1),
        is_at_import=function is None,
        digest=hashlib.sha256(text.encode()).hexdigest()[:16],
    )


def _outwards(leaf: Any) -> Iterator[Any]:
    node = leaf
    while node is not None:
        yield node
        node = node.parent


def _is_annotation(node: Any, inner: Any) -> bool:
    """Tell whether ``inner`` is the type in an annotation or what a function returns."""
    if node.type == "annassign":
        return node.children[1] is inner
    return node.type == "funcdef" and node.annotation is inner


def _head_end(statement: Any, position: Position) -> int:
    """Return the last line of a statement, of a compound one only what precedes its block."""
    blocks = [child for child in getattr(statement, "children", ()) if child.type == "suite"]
    if not blocks or statement.type == "simple_stmt":
        return statement.end_pos[0] - (statement.end_pos[1] == 0)
    return max(position[1][0], statement.start_pos[0])
