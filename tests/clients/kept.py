"""Outcomes of the last runs on this machine, so that one client can be run again for the card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.clients.results import Outcome


def read_kept(file: Path) -> list[Outcome]:
    """Return what ``keep`` wrote last; nothing where nothing was kept."""
    if not file.is_file():
        return []
    return msgspec.json.decode(file.read_bytes(), type=list[Outcome])


def keep(file: Path, outcomes: Sequence[Outcome]) -> None:
    """Write them for the next run."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(outcomes)))


def renewed(kept: Sequence[Outcome], ran: Sequence[Outcome], order: Sequence[str]) -> list[Outcome]:
    """Return what is known of each client in each world, what ran just now before what was kept.

    Args:
        kept: of earlier runs.
        ran: of this one.
        order: the clients that there are; others are forgotten.
    """
    known = {(each.client, each.world): each for each in (*kept, *ran)}
    return [each for client in order for each in known.values() if each.client == client]
