"""The report card as a page: a row per client and item, a column per world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tests.clients.results import ItemResult, Outcome

REASON_LENGTH_MAX: Final = 200
_HEAD: Final = """\
# Which clients work

`make report-card` wrote this page: it runs every program and suite below, all of unmodified
clients, against clusters that it starts. Each program checks itself: no error reaches the
application, no record is lost, none is there twice where the client promises that, and the records
of a key keep their order. Where a leader's disk fails, it is a log dir under the leader of the
topic that the program writes to, another one for each item that writes. Where a coordinator's
fails, each item has a cluster of its own, and meanwhile loses the log dir under its group's
partition of `__consumer_offsets`, and the one under its transactional id's partition of
`__transaction_state`: of Kafka Streams, which makes its transactional ids itself, the first one
alone. `python -m tests.clients --client NAME` runs one client again and renews its rows; those of
the others stay as they are.
"""


def rows(
    outcomes: Sequence[Outcome], worlds: Sequence[str], meanings: Mapping[str, str]
) -> dict[str, list[str]]:
    """Return the rows of each client in Markdown.

    Args:
        outcomes: of every client in every world that it ran in.
        worlds: the columns, in their order.
        meanings: what an item is about, where it is no suite.
    """
    seen: dict[tuple[str, str, str], dict[str, str]] = {}
    for outcome in outcomes:
        for result in outcome.results or (ItemResult("all", passed=False, told=""),):
            cells = seen.setdefault((outcome.client, outcome.version, result.item), {})
            cells[outcome.world] = _cell(outcome, result, is_suite=result.item not in meanings)
    found: dict[str, list[str]] = {}
    for (client, version, item), cells in seen.items():
        words = (f"{client} {version}".strip(), item, *(cells.get(world, "") for world in worlds))
        found.setdefault(client, []).append(f"| {' | '.join(words)} |")
    return found


def page(
    lines: Sequence[str],
    worlds: Sequence[str],
    meanings: Mapping[str, str],
    notes: Sequence[str] = (),
) -> str:
    """Return the card in Markdown.

    Args:
        lines: the rows of every client.
        worlds: the columns, in their order.
        meanings: what an item is about, where it is no suite.
        notes: what a reader has to know of a client.
    """
    items = {line.split(" | ")[1] for line in lines}
    head = f"| client | item | {' | '.join(worlds)} |"
    whole = (_filled(line, 2 + len(worlds)) for line in lines)
    told = [_HEAD, head, f"|---|---|{'---|' * len(worlds)}", *whole]
    told += ["", "| item | what it does |", "|---|---|"]
    told += [f"| {item} | {text} |" for item, text in meanings.items() if item in items]
    told += ["", *(f"- {note}" for note in notes)] if notes else []
    return "\n".join(told) + "\n"


def _filled(line: str, columns: int) -> str:
    """Give a row of an earlier run the cells of worlds that there were not yet."""
    return line + "  |" * (columns - 1 - line.count(" | "))


def _cell(outcome: Outcome, result: ItemResult, *, is_suite: bool) -> str:
    """Return counts only of suites: those of programs change with every run."""
    if outcome.not_run:
        return _one_line(f"not run: {outcome.not_run}")
    if not result.passed:
        return _one_line(f"**missed**: {result.told}")
    return _one_line(result.told) if is_suite else "passed"


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")[:REASON_LENGTH_MAX]
