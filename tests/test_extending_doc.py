"""docs/extending.md names files: each of them is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
A_PATH = re.compile(r"`([\w.-]+(?:/[\w.-]*)+)`")


def test_every_path_that_is_named_exists() -> None:
    paths: list[str] = A_PATH.findall(PAGE)
    assert len(paths) > 30
    assert [path for path in paths if not (ROOT / path).exists()] == []
