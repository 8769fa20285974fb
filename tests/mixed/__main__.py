"""Plays the recorded stories with one, two and three brokers of jbodlab; prints how they compare.

Exit code 1: the real controller, or a tool, said another thing than it was recorded to.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from typing import Final

from benchmarks.peer.kafka import BUILD_DIR
from tests.mixed.told_stories import Compared, play

FOLDER: Final = BUILD_DIR / "mixed-stories"
"""Where the last runs were, with the logs of their nodes."""
OWN: Final = ((3,), (2, 3), (1, 2, 3))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog=f"python -m {__package__}", description=__doc__)
    parser.add_argument(
        "--own", type=int, choices=(1, 2, 3), help="how many brokers are jbodlab's; else all three"
    )
    own = parser.parse_args(arguments).own
    found = 0
    for own_ids in OWN if own is None else OWN[own - 1 : own]:
        folder = FOLDER / "-".join(map(str, own_ids))
        shutil.rmtree(folder, ignore_errors=True)
        results = play(folder, BUILD_DIR, own_ids)
        sys.stdout.write(f"{table(own_ids, results)}\n")
        sys.stdout.flush()
        found += sum(len(each.differences) for each in results)
    return 1 if found else 0


def table(own_ids: Sequence[int], results: Sequence[Compared]) -> str:
    """Return a line for each story, one for each difference, and the sums."""
    lines = [f"jbodlab's: broker {', '.join(map(str, own_ids))}"]
    for each in results:
        verdict = "as recorded" if not each.differences else "otherwise"
        lines.append(f"  {each.story:40} {each.requests:5} {each.rows:6}  {verdict}")
        lines += [f"      {line}" for line in each.differences]
    alike = sum(not each.differences for each in results)
    requests, rows = sum(each.requests for each in results), sum(each.rows for each in results)
    sums = f"{requests:5} {rows:6}  {alike} of {len(results)} as recorded"
    return "\n".join([*lines, f"  {'requests, rows of partitions':40} {sums}"])


if __name__ == "__main__":
    sys.exit(main())
