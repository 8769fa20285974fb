"""The glossary of docs/architecture.md: one word per thing, and where each thing stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GLOSSARY = (ROOT / "docs/architecture.md").read_text(encoding="utf-8").partition("\n## Words\n")[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in GLOSSARY.partition("\n## ")[0].splitlines()
    if line.startswith("| ")
][1:]


def test_no_word_is_explained_twice() -> None:
    words = [word for row in ROWS for word in row[0].split(", ")]
    assert len(words) > 30
    assert sorted(words) == sorted(set(words))


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_what_a_word_means_stands_where_the_glossary_says(row: list[str]) -> None:
    (place,) = re.findall(r"`([^`]+)`", row[2])
    assert (ROOT / place).exists()
