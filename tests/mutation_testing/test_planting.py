"""Bugs are planted where rules are, one at a time, and their names outlive other code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.mutation_testing.planting import (
    Mutant,
    all_mutants,
    mutants_of,
    mutated_source,
    plant,
    sample,
)
from tests.mutation_testing.results import equivalents

RULE = '''"""A module."""

LIMIT = 5


class Gate:
    """A class."""

    def __init__(self) -> None:
        self.open = True

    def let_in(self, visitors: list[int], most: int = 3) -> bool:
        """Return whether it did."""
        assert most >= 0, f"{most} is less than {0}"
        if len(visitors) >= most and self.open:
            step.note(f"full with {most + 1}")
            self._log_refusal(most + 1)
            return False
        visitors.append(
            most
        )
        return True


def untouched() -> int:
    return 1 if LIMIT else 2
'''


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "planted_here"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "gate.py").write_text(RULE, encoding="utf-8")
    return tmp_path


@pytest.fixture
def importing(root: Path) -> Iterator[None]:
    sys.path.insert(0, str(root))
    yield
    sys.path.remove(str(root))
    for name in [name for name in sys.modules if name.startswith("planted_here")]:
        del sys.modules[name]


def kinds(mutants: list[Mutant]) -> list[str]:
    return [mutant.id.removeprefix("planted_here/gate.py:") for mutant in mutants]


def test_rules_have_mutants_and_what_guards_or_tells_has_none(root: Path) -> None:
    assert kinds(mutants_of("planted_here/gate.py", root)) == [
        "module:NumberReplacer:1",
        "module:NumberReplacer:2",
        "Gate.let_in:NumberReplacer:1",
        "Gate.let_in:NumberReplacer:2",
        "Gate.let_in:ConditionAlwaysHolds:1",
        "Gate.let_in:ConditionNeverHolds:1",
        "Gate.let_in:ReplaceAndWithOr:1",
        "Gate.let_in:ReplaceComparisonOperator_GtE_Gt:1",
        "Gate.let_in:ReplaceComparisonOperator_GtE_Lt:1",
        "Gate.let_in:ReplaceFalseWithTrue:1",
        "Gate.let_in:DropEffect:1",
        "Gate.let_in:ReplaceTrueWithFalse:1",
        "untouched:ConditionAlwaysHolds:1",
        "untouched:ConditionNeverHolds:1",
        "untouched:NumberReplacer:1",
        "untouched:NumberReplacer:2",
        "untouched:NumberReplacer:3",
        "untouched:NumberReplacer:4",
    ]


def test_a_mutant_knows_its_lines_and_what_runs_at_import(root: Path) -> None:
    by_kind = {
        mutant.id.partition(":")[2]: mutant for mutant in mutants_of("planted_here/gate.py", root)
    }

    assert list(by_kind["Gate.let_in:DropEffect:1"].lines) == [19, 20, 21]
    assert list(by_kind["Gate.let_in:ConditionAlwaysHolds:1"].lines) == [15]
    assert not by_kind["Gate.let_in:ConditionAlwaysHolds:1"].is_at_import
    assert by_kind["module:NumberReplacer:1"].is_at_import
    assert by_kind["Gate.let_in:NumberReplacer:1"].is_at_import, "a default is"


def test_one_thing_is_another_in_a_mutant(root: Path) -> None:
    changed = {
        mutant.id.rpartition("let_in:")[2]: set(mutated_source(mutant, root).splitlines())
        - set(RULE.splitlines())
        for mutant in mutants_of("planted_here/gate.py", root)
        if "let_in" in mutant.id
    }

    assert changed["ConditionNeverHolds:1"] == {"        if False:"}
    assert changed["ReplaceAndWithOr:1"] == {"        if len(visitors) >= most or self.open:"}
    assert changed["DropEffect:1"] == {"        pass"}


def test_every_mutant_can_be_compiled(root: Path) -> None:
    for mutant in mutants_of("planted_here/gate.py", root):
        compile(mutated_source(mutant, root), mutant.path, "exec")


def test_names_and_digests_stay_when_other_functions_change(root: Path) -> None:
    def of_gate() -> list[tuple[str, str]]:
        found = mutants_of("planted_here/gate.py", root)
        return [(mutant.id, mutant.digest) for mutant in found if "let_in" in mutant.id]

    before = of_gate()
    file = root / "planted_here/gate.py"
    file.write_text(RULE.replace("LIMIT = 5", "LIMIT = 5\nMORE = 6"), encoding="utf-8")
    assert of_gate()[2:] == before[2:]

    file.write_text(RULE.replace("and self.open", "and not self.open"), encoding="utf-8")
    assert (
        dict(of_gate())["planted_here/gate.py:Gate.let_in:DropEffect:1"]
        not in dict(before)["planted_here/gate.py:Gate.let_in:DropEffect:1"]
    )


def test_a_sample_is_drawn_by_its_seed_and_a_smaller_one_begins_a_larger(root: Path) -> None:
    mutants = mutants_of("planted_here/gate.py", root)

    assert sample(mutants, 5, seed=1) == sample(mutants[::-1], 9, seed=1)[:5]
    assert sample(mutants, 9, seed=1) != sample(mutants, 9, seed=2)


def test_mutants_of_some_rooms_are_those_of_files_whose_paths_have_a_part(root: Path) -> None:
    (root / "planted_here/door.py").write_text(RULE, encoding="utf-8")
    (root / "planted_here/lane.py").write_text(RULE, encoding="utf-8")

    def files(*within: str, without: tuple[str, ...] = ()) -> list[str]:
        found = all_mutants(["planted_here/*.py"], root, within=within, without=without)
        return list(dict.fromkeys(mutant.path for mutant in found))

    assert files("here/gate", "door") == ["planted_here/door.py", "planted_here/gate.py"]
    assert files("here/gate", "door", without=("door", "lane")) == ["planted_here/gate.py"]
    assert files(without=("gate",)) == ["planted_here/door.py", "planted_here/lane.py"]
    assert files("no such room") == []
    assert files() == [f"planted_here/{name}.py" for name in ("door", "gate", "lane")]


def planted(kind: str, root: Path) -> None:
    mutants = mutants_of("planted_here/gate.py", root)
    plant(next(mutant for mutant in mutants if mutant.id.endswith(kind)), root)


@pytest.mark.usefixtures("importing")
def test_a_planted_mutant_is_what_everybody_imports(root: Path) -> None:
    planted("untouched:ConditionNeverHolds:1", root)

    gate = import_module("planted_here.gate")

    assert gate is import_module("planted_here").gate
    assert gate.untouched() == 2
    assert (root / "planted_here/gate.py").read_text(encoding="utf-8") == RULE


@pytest.mark.usefixtures("importing")
def test_a_module_that_is_in_use_takes_no_mutant(root: Path) -> None:
    import_module("planted_here.gate")

    with pytest.raises(AssertionError, match="in use"):
        planted("untouched:ConditionNeverHolds:1", root)


def test_what_is_called_equivalent_is_there_and_has_a_proof() -> None:
    proofs = equivalents()
    files = dict.fromkeys(each.partition(":")[0] for each in proofs)
    there = {mutant.id for file in files for mutant in mutants_of(file)}

    assert [each for each in proofs if each not in there] == [], (
        "their code is another now: prove them again, or take them out of equivalents.yaml"
    )
    assert [each for each, proof in proofs.items() if len(proof.split()) < 5] == []
