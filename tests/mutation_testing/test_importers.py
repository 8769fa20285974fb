"""Which files of tests import a module, and what changes with what they import."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.mutation_testing.importers import Importers
from tests.mutation_testing.planting import ROOT

RULE = "broker/core/isr.py"
BY_ITSELF = "tests/broker/core/test_isr.py"
BY_A_CLUSTER = "tests/simulation/test_simulated_run.py"
NOT = "tests/controller/test_journal.py"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a tree with one file of tests, its rule and the begin of both packages."""
    for path in ("tests/__init__.py", "broker/__init__.py", BY_ITSELF, RULE):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    return tmp_path


def test_files_that_import_a_module_or_something_that_does_are_found() -> None:
    found = Importers().of([RULE])

    assert BY_ITSELF in found
    assert BY_A_CLUSTER in found
    assert NOT not in found


def test_files_outside_a_tree_are_not_in_it(root: Path) -> None:
    assert Importers(root).of([RULE, "broker/core/tail.py"]) == [BY_ITSELF]


@pytest.mark.parametrize("path", [RULE, BY_ITSELF])
def test_a_digest_changes_with_what_is_imported_and_with_nothing_else(
    path: str, root: Path
) -> None:
    before = Importers(root).digest(BY_ITSELF)
    assert Importers(root).digest(BY_ITSELF) == before

    (root / "broker" / "news.py").write_text("NEWS = 1\n", encoding="utf-8")
    assert Importers(root).digest(BY_ITSELF) == before

    with (root / path).open("a", encoding="utf-8") as file:
        file.write("NEWS = 1\n")
    assert Importers(root).digest(BY_ITSELF) != before
