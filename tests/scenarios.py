"""``python -m tests.scenarios``: which numbered scenarios of docs/scenarios.md the tests show.

Collects tests, runs none.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path

import pytest

CATALOGUE = Path(__file__).parents[1] / "docs" / "scenarios.md"


class ScenarioCollector:
    """A pytest plugin that notes the scenario numbers of every collected test."""

    def __init__(self) -> None:
        self.shown: dict[int, list[str]] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            for marker in item.iter_markers("scenario"):
                for number in marker.args:
                    name = item.nodeid.partition("[")[0]
                    if name not in self.shown.setdefault(number, []):
                        self.shown[number].append(name)


def read_titles(text: str) -> dict[int, str]:
    """Return the titles of the catalogue by number."""
    return {int(found[1]): found[2] for found in re.finditer(r"(?m)^(\d+)\. (.+)$", text)}


def coverage_lines(titles: dict[int, str], shown: dict[int, list[str]]) -> list[str]:
    """Return one line per scenario, its tests below it, and the sum."""
    lines: list[str] = []
    for number, title in titles.items():
        tests = sorted(shown.get(number, []))
        lines.append(f"{'shown' if tests else '  -  '} {number:>3}  {title}")
        lines.extend(f"             {test}" for test in tests)
    count = sum(number in shown for number in titles)
    return [*lines, f"{count} of {len(titles)} scenarios are shown by a test"]


def main() -> int:
    """Print the coverage; the exit code is that of the collection."""
    collector = ScenarioCollector()
    with contextlib.redirect_stdout(io.StringIO()) as listing:
        code = pytest.main(["--collect-only", "-q"], plugins=[collector])
    if code != pytest.ExitCode.OK:
        sys.stderr.write(listing.getvalue())
    titles = read_titles(CATALOGUE.read_text(encoding="utf-8"))
    sys.stdout.write("\n".join(coverage_lines(titles, collector.shown)) + "\n")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
