"""The programs that the guide shows for a secured cluster are those that are run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "secured"
PAGE = FOLDER.parents[2] / "docs" / "guide" / "how-to" / "secure.md"
BLOCKS = re.findall(r"```(?:js|go|java)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
PROGRAMS = ("main.js", "franz/main.go", "sarama/main.go", "Secured.java")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_guide_shows_the_program_that_is_run(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8").rstrip() + "\n" in BLOCKS


def test_the_guide_shows_no_other() -> None:
    assert len(BLOCKS) == len(PROGRAMS)
