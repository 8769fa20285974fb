"""Rules and their outcomes: which functions a module has, which way each of their branches can go.

A rule is a function of a pure room, an outcome one way through it: it was entered, a condition held
or did not, a case of a ``match`` or an ``except`` was taken. ``watched`` writes a mark at each of
them. It reads texts and imports nothing; who runs the marked code is ``simulation.rule_watch``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

MARK: Final = "__mark_outcome__"
"""Global of a watched module: ``mark(index, value)`` returns ``value``.

``index`` is that of the outcome when ``value`` is false; the next one is that when it is true.
"""
_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_Scope: TypeAlias = _Function | ast.ClassDef
ENTERED: Final = "is entered"
HELD: Final = "holds"
FAILED: Final = "does not hold"
TAKEN: Final = "is taken"
_TEXT_MAX: Final = 60


class RuleOutcome(NamedTuple):
    """One way through a rule."""

    rule: str
    """The dotted name of its function, with that of its module and class."""
    line: int
    what: str
    """The condition, or what kind of place it is; shortened."""
    how: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what} {self.how}"


def outcomes_of(module: str, source: str) -> list[RuleOutcome]:
    """Return all outcomes of a module's rules, in the order in which they are marked."""
    return _Marker(module, 0).mark(ast.parse(source))


def watched(module: str, source: str, first: int) -> ast.Module:
    """Return a module's code with a mark at each outcome.

    Args:
        module: its dotted name.
        source: its text.
        first: the index of its first outcome; the others follow as ``outcomes_of`` has them.
    """
    tree = ast.parse(source)
    _Marker(module, first).mark(tree)
    return ast.fix_missing_locations(tree)


class _Marker:
    """Writes the marks into one tree."""

    def __init__(self, module: str, first: int) -> None:
        self._module = module
        self._first = first
        self._found: list[RuleOutcome] = []

    def mark(self, tree: ast.Module) -> list[RuleOutcome]:
        for name, function in list(_functions(tree.body, self._module)):
            if not _is_a_door(function):
                self._mark_function(name, function)
        return self._found

    def _mark_function(self, rule: str, function: _Function) -> None:
        nodes = list(_own_nodes(function))
        entered = self._place(RuleOutcome(rule, function.lineno, function.name, ENTERED))
        for node in nodes:
            match node:
                case ast.If() | ast.While() | ast.IfExp():
                    if not _is_settled(node):
                        node.test = self._condition(rule, node.test)
                case ast.comprehension():
                    node.ifs = [self._condition(rule, each) for each in node.ifs]
                case ast.match_case() if not _is_refusal(node.body):
                    text = f"case {_short(ast.unparse(node.pattern))}"
                    line = node.pattern.lineno
                    node.body.insert(0, self._place(RuleOutcome(rule, line, text, TAKEN)))
                case ast.ExceptHandler():
                    kind = "" if node.type is None else f" {_short(ast.unparse(node.type))}"
                    what = RuleOutcome(rule, node.lineno, f"except{kind}", TAKEN)
                    node.body.insert(0, self._place(what))
                case _:
                    pass
        function.body.insert(_first_line(function), entered)

    def _place(self, outcome: RuleOutcome) -> ast.stmt:
        """Return the statement that marks a place."""
        index = self._first + len(self._found)
        self._found.append(outcome)
        return ast.Expr(_call(index, ast.Constant(value=False)))

    def _condition(self, rule: str, test: ast.expr) -> ast.expr:
        """Return the condition with its mark around it."""
        index = self._first + len(self._found)
        text = _short(ast.unparse(test))
        self._found += [RuleOutcome(rule, test.lineno, text, how) for how in (FAILED, HELD)]
        return ast.copy_location(_call(index, test), test)


def _call(index: int, value: ast.expr) -> ast.Call:
    name = ast.Name(MARK, ast.Load())
    return ast.Call(func=name, args=[ast.Constant(index), value], keywords=[])


def _functions(body: Sequence[ast.stmt], above: str) -> Iterator[tuple[str, _Function]]:
    """Give every function with its dotted name, those inside of others too."""
    for node in body:
        for scope in _scopes(node):
            name = f"{above}.{scope.name}"
            if not isinstance(scope, ast.ClassDef):
                yield name, scope
            yield from _functions(scope.body, name)


def _scopes(node: ast.AST) -> Iterator[_Scope]:
    """Give the classes and functions in a statement, but none inside of another one."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from _scopes(child)


def _own_nodes(function: _Function) -> Iterator[ast.AST]:
    """Give what a function consists of, in the order of the text, without those inside of it."""
    for statement in function.body:
        yield from _without_scopes(statement)


def _without_scopes(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _without_scopes(child)


def _is_a_door(function: _Function) -> bool:
    """Tell whether a function only says what others do: a method of a port."""
    rest = function.body[_first_line(function) :]
    return all(isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) for each in rest)


def _first_line(function: _Function) -> int:
    """Return where the statements behind the docstring begin."""
    return 0 if ast.get_docstring(function) is None else 1


def _is_settled(node: ast.If | ast.While | ast.IfExp) -> bool:
    """Tell whether a condition can go one way only: ``while True``, what must never be."""
    body = [] if isinstance(node, ast.IfExp) else node.body
    return isinstance(node.test, ast.Constant) or (bool(body) and _is_refusal(body))


def _is_refusal(body: Sequence[ast.stmt]) -> bool:
    """Tell whether this is what no code comes to: ``assert_never``, an AssertionError."""
    text = ast.unparse(body[0])
    return text.startswith(("assert_never(", "raise AssertionError"))


def _short(text: str) -> str:
    return text if len(text) <= _TEXT_MAX else f"{text[:_TEXT_MAX]}..."
