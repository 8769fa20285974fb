"""What the report card says of secured clusters: a row per way, a column per client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.clients.secured.combinations import Told

HEADING: Final = "## By each protocol and mechanism"
_SAID_MAX: Final = 160
_WORDS: Final = (
    "`python -m tests.clients --secured` wrote this part: each client writes a record, and has it\n"
    "acknowledged, at a listener of each protocol; by SSL it shows a certificate. Tokens of\n"
    "OAUTHBEARER are unsecured ones; what looks them up and signs them is each client's own.\n"
)


def part(told: Sequence[Told]) -> str:
    """Return it in Markdown, with the reason of each miss below the table."""
    clients = list(dict.fromkeys(each.client for each in told))
    by = {(each.client, each.way): each for each in told}
    lines = [HEADING, "", _WORDS, f"| | {' | '.join(clients)} |", f"|---|{'---|' * len(clients)}"]
    for way in dict.fromkeys(each.way for each in told):
        cells = [_cell(by[client, way]) for client in clients]
        lines.append(f"| {way} | {' | '.join(cells)} |")
    missed = [each for each in told if _cell(each) != "passed"]
    lines += [""] if missed else []
    lines += [f"- {each.client}, {each.way}: {_one_line(each.text)}" for each in missed]
    return "\n".join(lines) + "\n"


def kept_part(page: str) -> str:
    """Return that part of a card as it stands, with the line before it; "" where there is none."""
    _, heading, rest = page.partition(f"\n{HEADING}")
    return heading + rest


def _cell(told: Told) -> str:
    if not told.is_run:
        return "not run"
    return "passed" if told.text == "passed" else "**missed**"


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")[:_SAID_MAX]
