"""A mutant is noticed where its statement runs, one of a constant where that is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutation_testing.places import Place, places_of, spots_by_file
from tests.mutation_testing.planting import Mutant, mutants_of

RULE = '''"""A module."""

LIMIT = 5
_STEP: int = 2
_TABLE = {"most": 4}
ON_IMPORT = 1
LAST = ON_IMPORT


class Gate:
    """A class."""

    open: int = 1

    def let_in(self, visitors: list[int], most: int = 3) -> bool:
        """Return whether it did."""
        if len(visitors) < LIMIT:
            visitors.append(
                _STEP
            )
        return all(each < _TABLE["most"] for each in visitors)
'''
OTHER = '''"""Another module."""

from broker.gate import LIMIT


def is_full(count: int) -> bool:
    return count >= LIMIT
'''
STRANGER = '''"""It has a limit of its own."""

LIMIT = 7


def limit() -> int:
    return LIMIT
'''
PATH = "broker/gate.py"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "broker").mkdir()
    for name, text in (("gate", RULE), ("other", OTHER), ("stranger", STRANGER)):
        (tmp_path / "broker" / f"{name}.py").write_text(text, encoding="utf-8")
    return tmp_path


def mutant_in(line: int, root: Path) -> Mutant:
    return next(mutant for mutant in mutants_of(PATH, root) if mutant.line == line)


@pytest.mark.parametrize(
    ("line", "places"),
    [
        (17, ((PATH, "17 ConditionAlwaysHolds 0"),)),
        (18, ((PATH, "18 DropEffect 0"),)),
        (3, ((PATH, "17"), ("broker/other.py", "7"))),
        (4, ((PATH, "18"),)),
        (5, ((PATH, "21"),)),
        (6, None),
        (13, None),
        (15, None),
    ],
)
def test_a_place_is_the_statement_itself_or_those_that_read_the_constant(
    line: int, places: tuple[Place, ...] | None, root: Path
) -> None:
    assert places_of(mutant_in(line, root), root) == places


def test_places_of_several_are_told_once_by_file(root: Path) -> None:
    mutants = [mutant_in(line, root) for line in (3, 6, 17, 18)]

    assert spots_by_file(mutants, root) == {
        PATH: ["17", "17 ConditionAlwaysHolds 0", "18 DropEffect 0"],
        "broker/other.py": ["7"],
    }
