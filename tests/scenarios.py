"""``python -m tests.scenarios``: which numbered scenarios of docs/scenarios.md the tests show.

With ``--bugs``: which of Kafka's bugs in docs/kafka-bugs.md they show not to be here. Collects
all tests, sampled ones too, and runs none.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import pytest

Id = TypeVar("Id", int, str)

DOCS = Path(__file__).parents[1] / "docs"
CATALOGUE = DOCS / "scenarios.md"
NOT_SHOWN = DOCS / "scenarios-not-shown.md"
BUGS = DOCS / "kafka-bugs.md"


@dataclass(frozen=True)
class Coverage(Generic[Id]):
    """What there is, which tests show it, and why some of it cannot be shown."""

    titles: dict[Id, str]
    reasons: dict[Id, str]
    shown: dict[Id, list[str]]

    def lines(self) -> list[str]:
        """Return one line per entry, below it its tests or the reason why there are none."""
        width = max((len(str(entry)) for entry in self.titles), default=0)
        return [
            line for entry in self.titles for line in self._lines_of(entry, f"{entry:>{width}}")
        ]

    def _lines_of(self, entry: Id, name: str) -> list[str]:
        title = f"{name}  {self.titles[entry]}"
        if tests := sorted(self.shown.get(entry, [])):
            return [f"shown {title}", *(f"             {test}" for test in tests)]
        if reason := self.reasons.get(entry):
            return [f"  n/a {title}", f"             {reason}"]
        return [f"  -   {title}"]

    def sum_line(self, what: str) -> str:
        """Return how many of the entries are shown, excused and open."""
        shown = sum(entry in self.shown for entry in self.titles)
        excused = sum(entry in self.reasons for entry in self.titles)
        rest = len(self.titles) - shown - excused
        return (
            f"{shown} of {len(self.titles)} {what} are shown by a test,"
            f" {excused} cannot be, {rest} are open"
        )


class MarkCollector:
    """A pytest plugin that notes which tests carry which arguments of one marker."""

    def __init__(self, marker: str) -> None:
        self.marker = marker
        self.shown: dict[int | str, list[str]] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            for marker in item.iter_markers(self.marker):
                for entry in marker.args:
                    name = _name(item, marker)
                    if name not in self.shown.setdefault(entry, []):
                        self.shown[entry].append(name)


def _name(item: pytest.Item, marker: pytest.Mark) -> str:
    """Name the test, with its case if that alone is marked."""
    callspec = getattr(item, "callspec", None)
    is_own = callspec is not None and marker in callspec.marks
    return item.nodeid if is_own else item.nodeid.partition("[")[0]


def read_titles(text: str) -> dict[int, str]:
    """Return the titles of the catalogue by number."""
    return {int(found[1]): found[2] for found in re.finditer(r"(?m)^(\d+)\. (.+)$", text)}


def read_table(text: str, head: str) -> dict[str, str]:
    """Return the two columns of the Markdown table whose header line is ``head``."""
    _, _, table = text.partition(f"{head}\n")
    rows = table.partition("\n\n")[0].splitlines()[1:]
    return {cells[1].strip(): cells[2].strip() for cells in (row.split("|") for row in rows)}


def read_reasons() -> dict[int, str]:
    """Return why scenarios are not shown, by number."""
    table = read_table(NOT_SHOWN.read_text(encoding="utf-8"), "| number | reason |")
    return {int(number): reason for number, reason in table.items()}


def read_bugs() -> dict[str, str]:
    """Return Kafka's bugs by ticket."""
    return read_table(BUGS.read_text(encoding="utf-8"), "| ticket | what went wrong in Kafka |")


def read_bug_reasons() -> dict[str, str]:
    """Return why bugs cannot be provoked here, by ticket."""
    return read_table(BUGS.read_text(encoding="utf-8"), "| ticket | why |")


def main() -> int:
    """Print the coverage; the exit code is that of the collection."""
    parser = argparse.ArgumentParser(prog="python -m tests.scenarios")
    parser.add_argument("--bugs", action="store_true", help="Kafka's bugs instead of scenarios")
    bugs = parser.parse_args().bugs
    collector = MarkCollector("kafka_bug" if bugs else "scenario")
    with contextlib.redirect_stdout(io.StringIO()) as listing:
        code = pytest.main(["--collect-only", "-q", "--unsampled"], plugins=[collector])
    if code != pytest.ExitCode.OK:
        sys.stderr.write(listing.getvalue())
    coverage = _bugs(collector) if bugs else _scenarios(collector)
    total = coverage.sum_line("bugs" if bugs else "scenarios")
    sys.stdout.write("\n".join([*coverage.lines(), total]) + "\n")
    return int(code)


def _scenarios(collector: MarkCollector) -> Coverage[int]:
    shown = {entry: tests for entry, tests in collector.shown.items() if isinstance(entry, int)}
    return Coverage(read_titles(CATALOGUE.read_text(encoding="utf-8")), read_reasons(), shown)


def _bugs(collector: MarkCollector) -> Coverage[str]:
    shown = {entry: tests for entry, tests in collector.shown.items() if isinstance(entry, str)}
    return Coverage(read_bugs(), read_bug_reasons(), shown)


if __name__ == "__main__":
    sys.exit(main())
