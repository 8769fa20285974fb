"""The reference pages of the guide say what the code does."""

from __future__ import annotations

import pytest

from jbodlab.http_api.core.operations import OPERATIONS
from protocol.faults.document import MODES
from tests.guide.commands import escaped
from tests.guide.http_api import structs
from tests.guide.reference import FOLDER, PAGES, page


@pytest.mark.parametrize("name", PAGES)
def test_a_reference_page_is_that_of_the_code(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert page(name) == text, "write it: python -m tests.guide"


def test_commands_below_a_group_and_their_options_are_there() -> None:
    text = page("commands.md")
    assert "### jbodlab log-dirs fail\n" in text
    assert "| `--delay-ms INTEGER RANGE` | Of mode slow: added to each call." in text


def test_every_operation_and_its_structs_are_there() -> None:
    text = page("http-api.md")
    assert [each.path for each in OPERATIONS if f"| `{each.path}` |" not in text] == []
    assert "### ReplicaInfo\n" in text
    assert text.count("### ") == len(structs())


def test_every_mode_is_there() -> None:
    text = page("faults.md")
    assert [mode for mode in MODES if f"| `{mode}` |" not in text] == []


@pytest.mark.parametrize("name", PAGES)
def test_every_row_says_something(name: str) -> None:
    rows = [line for line in page(name).splitlines() if line.startswith("| `")]
    silent = [
        row for row in rows if row.endswith("|  |") and name not in ("faults.md", "http-api.md")
    ]
    assert silent == []


def test_only_text_between_backquotes_is_left_as_it_is() -> None:
    assert escaped("a_b* of `c_d*` | <e>") == r"a\_b\* of `c_d*` \| \<e\>"
