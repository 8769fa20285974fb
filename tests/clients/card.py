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
of a key keep their order. In the last column a log dir under the leader of the topic fails while
the program writes to it, another one for each item that writes. `python -m tests.clients --client
NAME` runs one client again and renews its rows; a client without rows did not run here yet.
"""


def page(
    outcomes: Sequence[Outcome],
    worlds: Sequence[str],
    meanings: Mapping[str, str],
    notes: Sequence[str] = (),
) -> str:
    """Return the card in Markdown.

    Args:
        outcomes: of every client in every world that it ran in.
        worlds: the columns, in their order.
        meanings: what an item is about, where it is no suite.
        notes: what a reader has to know of a client.
    """
    lines = [_HEAD, f"| client | item | {' | '.join(worlds)} |", f"|---|---|{'---|' * len(worlds)}"]
    seen: dict[tuple[str, str], dict[str, str]] = {}
    for outcome in outcomes:
        client = f"{outcome.client} {outcome.version}".strip()
        for result in outcome.results or (ItemResult("all", passed=False, told=""),):
            cells = seen.setdefault((client, result.item), {})
            cells[outcome.world] = _cell(outcome, result, is_suite=result.item not in meanings)
    lines += [
        f"| {client} | {item} | {' | '.join(cells.get(world, '') for world in worlds)} |"
        for (client, item), cells in seen.items()
    ]
    items = {item for _, item in seen}
    lines += ["", "| item | what it does |", "|---|---|"]
    lines += [f"| {item} | {text} |" for item, text in meanings.items() if item in items]
    lines += ["", *(f"- {note}" for note in notes)] if notes else []
    return "\n".join(lines) + "\n"


def _cell(outcome: Outcome, result: ItemResult, *, is_suite: bool) -> str:
    """Return counts only of suites: those of programs change with every run."""
    if outcome.not_run:
        return _one_line(f"not run: {outcome.not_run}")
    if not result.passed:
        return _one_line(f"**missed**: {result.told}")
    return _one_line(result.told) if is_suite else "passed"


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")[:REASON_LENGTH_MAX]
