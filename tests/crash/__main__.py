"""``python -m tests.crash``: the crash matrix as a table; exit code 1 when anything is lost."""

from __future__ import annotations

import argparse
import logging
import sys

from rich.console import Console
from rich.table import Table

from tests.crash.matrix import Outcome, Row, break_everywhere, crash_everywhere
from tests.crash.shrinking import STORIES


def main() -> int:
    """Run every story, or those named, and print what the starts after the crashes came to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stories", nargs="*", help="their names; all when none is named")
    parser.add_argument("--draws", type=int, default=4, help="torn power cuts at each moment")
    parser.add_argument("--every", type=int, default=1, help="break at every n-th operation only")
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)  # Thousands of recoveries warn of what they cut.
    rows: list[Row] = []
    for story in STORIES:
        if not asked.stories or story.__name__ in asked.stories:
            rows += crash_everywhere(story, draws=asked.draws)
            rows.append(break_everywhere(story, every=asked.every))
    _print(rows)
    return int(any(row.complaints for row in rows))


def _print(rows: list[Row]) -> None:
    table = Table("story", "crash", *(outcome.value for outcome in Outcome), title="crash matrix")
    for row in rows:
        counts = [str(row.outcomes[outcome]) for outcome in Outcome]
        table.add_row(row.story, row.crash.value, *counts)
    console = Console()
    Console(width=None if console.is_terminal else 100).print(table)
    for row in rows:
        for complaint in row.complaints[:5]:
            console.print(complaint, style="red")


if __name__ == "__main__":
    sys.exit(main())
