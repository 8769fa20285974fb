"""docs/differences.md can be read: its cells are short, what needs more words has them below."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "differences.md"
TEXT = PAGE.read_text(encoding="utf-8")
CELL_CHARACTERS_MAX = 200
ROWS = [line[1:-1].split(" | ") for line in TEXT.splitlines() if line.startswith("| ")]


def test_every_row_has_a_place_kafka_here_and_a_reason() -> None:
    assert len(ROWS) > 150
    assert [cells[0] for cells in ROWS if len(cells) != 4] == []


def test_no_cell_is_longer_than_two_sentences_are() -> None:
    cells = [cell.strip() for row in ROWS for cell in row]
    assert [cell for cell in cells if len(cell) > CELL_CHARACTERS_MAX] == []


def test_every_link_to_more_leads_to_a_heading() -> None:
    headings: list[str] = re.findall(r"(?m)^#+ (.*)$", TEXT)
    places = [re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings]
    linked: list[str] = re.findall(r"\(#([^)]*)\)", TEXT)
    assert linked
    assert [each for each in linked if each not in places] == []
    assert len(places) == len(dict.fromkeys(places))


def test_links_to_other_pages_lead_somewhere() -> None:
    files: list[str] = re.findall(r"\]\(([^)#]+)", TEXT)
    assert [file for file in files if not (PAGE.parent / file).exists()] == []
