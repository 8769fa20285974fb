"""Rows of the page that is there, so that one client can be run again and the others stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def rows_of(page: str, clients: Sequence[str]) -> dict[str, list[str]]:
    """Return the rows of the page's first table by the client that they are of.

    Args:
        page: as ``card.page`` wrote it.
        clients: those that there are; a row begins with one of them and its version.
    """
    found: dict[str, list[str]] = {}
    for line in page.partition("\n| item | what")[0].splitlines():
        # "Java before 4 3.9.2" begins with "Java", too.
        of = [each for each in clients if line.startswith(f"| {each} ")]
        if of:
            found.setdefault(max(of, key=len), []).append(line)
    return found


def renewed(
    kept: Mapping[str, Sequence[str]], ran: Mapping[str, Sequence[str]], order: Sequence[str]
) -> list[str]:
    """Return the rows of all clients, in that order: of this run, or else those that were kept."""
    known = {**kept, **ran}
    return [row for client in order for row in known.get(client, ())]
