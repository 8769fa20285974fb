"""The site of docs builds without a warning, and who reads it asks nobody else for anything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FETCHED = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*?(?:src|href)=["']?(https?:)?//[^>]*>""")


@pytest.mark.sampled_among("site of the guide", kept=0)
def test_the_site_is_built_strictly_and_fetches_nothing_from_elsewhere(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pages = sorted(tmp_path.glob("**/*.html"))
    assert tmp_path / "guide" / "tutorial" / "index.html" in pages
    fetched = [FETCHED.findall(page.read_text(encoding="utf-8")) for page in pages]
    assert [found for found in fetched if found] == []


def test_the_menu_names_every_page_of_docs() -> None:
    named = re.findall(r"(?m): ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    docs = ROOT / "docs"
    assert sorted(named) == sorted(str(page.relative_to(docs)) for page in docs.glob("**/*.md"))


@pytest.mark.parametrize(
    "tag",
    [
        '<script src="https://cdn.example/x.js">',
        '<link rel="stylesheet" href="//fonts.example/a.css">',
        "<img src=https://badge.example/b.svg>",
    ],
)
def test_what_is_fetched_from_elsewhere_is_found(tag: str) -> None:
    assert FETCHED.search(tag)
