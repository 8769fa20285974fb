"""Rewrites sources of top-level packages that come to lie below another package.

It inserts the outer package's name into imports and changes nothing else: every line stays where it
is, so that a traceback of an installed module fits the repository. A module that a string names
would be missed; strings that clearly do are refused.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

_TAKES_A_MODULE: Final = ("files", "find_spec", "getLogger", "import_module", "run_module")
"""Functions whose first argument names a module or a package."""


class NotNestableError(Exception):
    """A source holds what cannot be rewritten; the message names each place and what to write."""


class _Insertion(NamedTuple):
    line: int
    """From 1 on."""
    column: int
    """In bytes, from 0 on."""
    text: bytes


@dataclass(frozen=True, slots=True)
class Nesting:
    """Which modules come to lie below which package."""

    outer: str
    """The package that the others come to lie below."""
    modules: frozenset[str]
    """The dotted names of all modules and packages that move, such as ``broker.core``."""

    def nested(self, source: str, file: str) -> str:
        """Return a source with its imports rewritten.

        Args:
            source: of a module that moves, or of one of the outer package.
            file: said in errors.

        Raises:
            NotNestableError: it imports, or names in a string, what moves in another form.
        """
        nodes = list(ast.walk(ast.parse(source, file)))
        lines = source.encode().split(b"\n")
        refused = [f"{file}:{line}: {why}" for line, why in self._refusals(nodes, lines)]
        if refused:
            raise NotNestableError("\n".join(refused))
        for line, column, text in sorted(self._insertions(nodes), reverse=True):
            old = lines[line - 1]
            lines[line - 1] = old[:column] + text + old[column:]
        return b"\n".join(lines).decode()

    def _moves(self, module: str) -> bool:
        return module.partition(".")[0] in self.modules

    def _insertions(self, nodes: Sequence[ast.AST]) -> Iterator[_Insertion]:
        prefix = f"{self.outer}.".encode()
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and self._is_moved_from(node):
                yield _Insertion(node.lineno, node.col_offset + len("from "), prefix)
            if isinstance(node, ast.Import):
                for alias in filter(lambda alias: self._moves(alias.name), node.names):
                    yield _Insertion(alias.lineno, alias.col_offset, prefix)
                    if alias.asname is None:
                        end = alias.end_col_offset or 0
                        yield _Insertion(alias.lineno, end, f" as {alias.name}".encode())

    def _is_moved_from(self, node: ast.ImportFrom) -> bool:
        return node.level == 0 and self._moves(node.module or "")

    def _refusals(self, nodes: Sequence[ast.AST], lines: list[bytes]) -> Iterator[tuple[int, str]]:
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and self._is_moved_from(node):
                written = lines[node.lineno - 1][node.col_offset :].decode()
                if not written.startswith(f"from {node.module} "):
                    yield node.lineno, f"write `from {node.module} import ...`, with single spaces"
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if self._moves(alias.name) and "." in alias.name and alias.asname is None:
                        yield node.lineno, f"write `import {alias.name} as ...`"
        for line, text in self._named_in_strings(nodes):
            why = "names a module that moves: take the name from `__name__` of that module"
            yield line, f"{text!r} {why}"

    def _named_in_strings(self, nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
        tops = "|".join(sorted(name for name in self.modules if "." not in name))
        code = re.compile(rf"^[ >]*(?:from|import) (?:{tops})\b|-m (?:{tops})\b", re.MULTILINE)
        for line, text in _strings(nodes):
            # An f-string such as f"broker.{name}" has a string that ends in a dot.
            if ("." in text and text.rstrip(".") in self.modules) or code.search(text):
                yield line, text
        for line, text in _module_arguments(nodes):
            if "." not in text and text in self.modules:
                yield line, text


def _strings(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield all strings with their lines, but those that are expressions, such as docstrings."""
    prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.lineno, node.value


def _module_arguments(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield strings that stand where a module's name is wanted, with their lines."""
    for node in nodes:
        if isinstance(node, ast.Call) and _name(node.func) in _TAKES_A_MODULE:
            wanted = node.args[:1]
        elif isinstance(node, ast.List | ast.Tuple):
            wanted = [
                after
                for flag, after in pairwise(node.elts)
                if isinstance(flag, ast.Constant) and flag.value == "-m"
            ]
        else:
            continue
        for each in wanted:
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                yield each.lineno, each.value


def _name(function: ast.expr) -> str:
    return getattr(function, "attr", getattr(function, "id", ""))
