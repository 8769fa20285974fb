"""``python -m tests.guide`` writes the reference pages of the guide."""

from __future__ import annotations

import sys

from tests.guide.reference import FOLDER, PAGES, page

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in PAGES:
        (FOLDER / name).write_text(page(name), encoding="utf-8")
        sys.stdout.write(f"{FOLDER / name}\n")
