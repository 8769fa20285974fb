"""What ran is noted for the statements that were asked about, and code does what it did."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import CodeType

import pytest

from tests.mutation_testing.probes import Probes, with_notes

GATE = '''"""A module."""


class Gate:
    """A class."""

    def let_in(self, visitors: list[int], most: int = 3) -> bool:
        """Return whether it did."""
        if len(visitors) >= most:
            return False
        elif most < 0:
            return False
        visitors.append(
            most
        )
        return True


async def each(kind: int) -> list[int]:
    match kind:
        case 1 if kind > 0:
            return [1]
        case _:
            return [each for each in (2, 3) if each]
'''


@pytest.fixture
def probes(tmp_path: Path) -> Iterator[Probes]:
    folder = tmp_path / "probed_here"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "gate.py").write_text(GATE, encoding="utf-8")
    sys.path.insert(0, str(tmp_path))
    finders = list(sys.meta_path)
    yield Probes({"probed_here/gate.py": [9, 10, 13]}, tmp_path)
    sys.path.remove(str(tmp_path))
    sys.meta_path[:] = finders
    for name in [name for name in sys.modules if name.startswith("probed_here")]:
        del sys.modules[name]


def ran(*lines: int) -> dict[str, list[int]]:
    return {"probed_here/gate.py": list(lines)}


def test_statements_that_ran_since_one_asked_are_told(probes: Probes) -> None:
    gate = import_module("probed_here.gate").Gate()
    assert probes.take() == {}

    assert gate.let_in([])
    assert probes.take() == ran(9, 13)
    assert not gate.let_in([1, 2, 3])
    assert probes.take() == ran(9, 10)
    assert probes.take() == {}


def test_a_module_that_is_in_use_has_no_probes(probes: Probes) -> None:
    import_module("probed_here.gate")

    with pytest.raises(AssertionError, match=r"probed_here\.gate is in use"):
        Probes({"probed_here/gate.py": [9]})
    assert probes.take() == {}


def test_a_traceback_names_the_lines_of_the_file(probes: Probes) -> None:
    gate = import_module("probed_here.gate").Gate
    code: CodeType = gate.let_in.__code__

    assert {9, 10, 13, 16} <= {line for _, _, line in code.co_lines()}
    assert probes.take() == {}


@pytest.mark.parametrize(
    ("line", "noted_before"),
    [(9, "if"), (11, "if"), (14, "visitors.append"), (21, "match"), (22, "return [1]")],
)
def test_a_note_stands_before_the_innermost_statement_around_a_line(
    line: int, noted_before: str
) -> None:
    text = ast.unparse(with_notes(GATE, [line]))
    note = f"_note_that_this_ran_({line})\n"

    assert text.partition(note)[2].lstrip().startswith(noted_before)


def test_a_line_without_a_statement_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="no statement is in line 3"):
        with_notes(GATE, [3])
