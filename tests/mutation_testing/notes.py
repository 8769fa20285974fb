"""Puts notes into a module: of a statement that runs, of a value that would be another one.

A mutant changes an expression, or whether a statement runs. As long as its expression has the value
that it had without it, all that follows is the same: a note is made where the two differ. Where the
expression may have an effect it is made wherever the statement runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final

from tests.mutation_testing.planting import mutated

RAN: Final = "_note_that_this_ran_"
"""Is called with a spot."""
DIFFERS: Final = "_note_if_this_differs_"
"""Is called with a spot, a value, what makes the mutant's, and whether only truth counts."""
_PURE: Final = (
    *(ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Compare, ast.BoolOp),
    *(ast.UnaryOp, ast.BinOp, ast.IfExp, ast.Tuple, ast.Load, ast.operator, ast.unaryop),
    *(ast.cmpop, ast.boolop),
)
_PURE_FUNCTIONS: Final = ("len", "min", "max", "sum", "abs", "int", "bool")
_CONDITIONS: Final = ("ConditionAlwaysHolds", "ConditionNeverHolds")
_NO_LOOP: Final = "ZeroIterationForLoop"
Spot = str
"""A line in which a statement begins; with an operator and the number of its place for a mutant."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """An expression or statement, and what it is with the mutant."""

    owner: ast.AST
    field: str
    here: ast.AST
    there: ast.AST


def with_notes(source: str, spots: Iterable[Spot]) -> ast.Module:
    """Return a module with a note for each spot."""
    tree = ast.parse(source)
    blocks = list(_blocks(tree))
    statements: list[tuple[Spot, list[ast.stmt], ast.stmt]] = []
    values: dict[ast.AST, list[ast.Call]] = {}
    for spot in spots:
        line, *mutant = spot.split()
        operator = mutant[0] if mutant else ""
        pairs = _pairs(tree, ast.parse(mutated(source, operator, int(mutant[1])))) if mutant else []
        value = _value(pairs, is_condition=operator in _CONDITIONS)
        if operator == _NO_LOOP:
            statements.append((spot, *_first_of_loop(pairs)))
        elif value is None:
            statements.append((spot, *_innermost(blocks, int(line))))
        else:
            values.setdefault(value.here, []).append(_comparison(spot, value))
    for spot, block, statement in statements:
        note = ast.Expr(ast.Call(ast.Name(RAN, ast.Load()), [ast.Constant(spot)], []))
        place = next(number for number, each in enumerate(block) if each is statement)
        block.insert(place, ast.copy_location(note, statement))
    return ast.fix_missing_locations(_Comparing(values).visit(tree))


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block: Any = getattr(node, name, None)
            if isinstance(block, list):
                yield block


def _innermost(blocks: Sequence[list[ast.stmt]], line: int) -> tuple[list[ast.stmt], ast.stmt]:
    """Return the statement that begins in a line, or else the last one that has it in it."""
    around = [
        (statement.lineno, block, statement)
        for block in blocks
        for statement in block
        if statement.lineno <= line <= (statement.end_lineno or 0)
    ]
    assert around, f"no statement is in line {line}"
    begin = max(begin for begin, _, _ in around)
    return next((block, statement) for at, block, statement in around if at == begin)


def _first_of_loop(pairs: Sequence[_Pair]) -> tuple[list[ast.stmt], ast.stmt]:
    [body] = [
        pair.owner.body
        for pair in pairs
        if pair.field == "iter" and isinstance(pair.owner, ast.For | ast.AsyncFor)
    ]
    return body, body[0]


def _pairs(here: ast.AST, there: ast.AST) -> list[_Pair]:
    """Return what differs in two trees, from without to within, as far as it is one thing."""
    found = [
        (field, one, other)
        for field in here._fields
        for one, other in zip_longest(_parts(getattr(here, field)), _parts(getattr(there, field)))
        if one is None or other is None or ast.dump(one) != ast.dump(other)
    ]
    if len(found) != 1:
        return []
    [(field, one, other)] = found
    if one is None or other is None:
        return []
    is_alike = type(one) is type(other)
    return [_Pair(here, field, one, other), *(_pairs(one, other) if is_alike else ())]


def _parts(value: Any) -> list[ast.AST]:
    parts: list[Any] = [*value] if isinstance(value, list) else [value]
    return [part for part in parts if isinstance(part, ast.AST)]


def _value(pairs: Sequence[_Pair], *, is_condition: bool) -> _Pair | None:
    """Return the outermost expression that may be looked at twice, or the condition itself."""
    if any(isinstance(pair.here, ast.pattern) for pair in pairs):
        return None
    expressions = [pair for pair in pairs if _is_value(pair.here) and _is_value(pair.there)]
    for pair in expressions:
        if _is_pure(pair.here) and _is_pure(pair.there):
            return pair
    return expressions[-1] if is_condition and expressions else None


def _is_value(node: ast.AST) -> bool:
    return isinstance(node, ast.expr) and not isinstance(node, ast.Slice)


def _is_pure(expression: ast.AST) -> bool:
    if isinstance(expression, ast.Call):
        function = expression.func
        is_known = isinstance(function, ast.Name) and function.id in _PURE_FUNCTIONS
        return is_known and not expression.keywords and all(map(_is_pure, expression.args))
    parts = ast.iter_child_nodes(expression)
    return isinstance(expression, _PURE) and all(map(_is_pure, parts))


def _comparison(spot: Spot, pair: _Pair) -> ast.Call:
    """Return the call that takes the place of an expression; that is to be its second argument."""
    assert isinstance(pair.there, ast.expr)
    is_truth = pair.field in ("test", "ifs") or (
        isinstance(pair.owner, ast.UnaryOp) and isinstance(pair.owner.op, ast.Not)
    )
    nothing = ast.arguments([], [], None, [], [], None, [])
    arguments: list[ast.expr] = [
        ast.Constant(spot),
        ast.Constant(value=None),
        ast.Lambda(nothing, pair.there),
        ast.Constant(is_truth),
    ]
    return ast.Call(ast.Name(DIFFERS, ast.Load()), arguments, [])


class _Comparing(ast.NodeTransformer):
    def __init__(self, values: dict[ast.AST, list[ast.Call]]) -> None:
        self._values = values

    def generic_visit(self, node: ast.AST) -> ast.AST:
        seen = super().generic_visit(node)
        for call in self._values.get(node, ()):
            assert isinstance(seen, ast.expr), f"{ast.dump(node)} has no value"
            call.args[1] = seen
            seen = ast.copy_location(call, node)
        return seen
