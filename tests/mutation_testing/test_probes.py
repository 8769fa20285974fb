"""What ran is noted for the statements that were asked about, and code does what it did."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import CodeType

import pytest

from tests.mutation_testing.probes import Probes

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
'''
NO_ROOM = "9 ReplaceComparisonOperator_GtE_Gt 0"


@pytest.fixture
def probes(tmp_path: Path) -> Iterator[Probes]:
    folder = tmp_path / "probed_here"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "gate.py").write_text(GATE, encoding="utf-8")
    sys.path.insert(0, str(tmp_path))
    finders = list(sys.meta_path)
    yield Probes({"probed_here/gate.py": ["9", "10", "13", NO_ROOM]}, tmp_path)
    sys.path.remove(str(tmp_path))
    sys.meta_path[:] = finders
    for name in [name for name in sys.modules if name.startswith("probed_here")]:
        del sys.modules[name]


def noted(*spots: str) -> dict[str, list[str]]:
    return {"probed_here/gate.py": list(spots)}


def test_what_made_a_difference_since_one_asked_is_told(probes: Probes) -> None:
    gate = import_module("probed_here.gate").Gate()
    assert probes.take() == {}

    assert gate.let_in([])
    assert probes.take() == noted("13", "9")
    assert not gate.let_in([1, 2, 3, 4])
    assert probes.take() == noted("10", "9")
    assert not gate.let_in([1, 2, 3])
    assert probes.take() == noted("10", "9", NO_ROOM)
    assert probes.take() == {}


def test_a_module_that_is_in_use_has_no_probes(probes: Probes) -> None:
    import_module("probed_here.gate")

    with pytest.raises(AssertionError, match=r"probed_here\.gate is in use"):
        Probes({"probed_here/gate.py": ["9"]})
    assert probes.take() == {}


def test_a_traceback_names_the_lines_of_the_file(probes: Probes) -> None:
    gate = import_module("probed_here.gate").Gate
    code: CodeType = gate.let_in.__code__

    assert {9, 10, 13, 16} <= {line for _, _, line in code.co_lines()}
    assert probes.take() == {}
