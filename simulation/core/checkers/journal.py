"""Replaying the controller's journal gives the state that the controller has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from simulation.core.checkers.evidence import Evidence, Violation

NAME: Final = "journal"


def check_journal(evidence: Evidence) -> list[Violation]:
    """Compare the two, line by line; in which order they are kept does not count."""
    return [
        Violation(
            NAME,
            sample.at_us,
            f"the journal replays to another state: {_told('only decided', decided)}; "
            f"{_told('only replayed', replayed)}",
        )
        for sample in evidence.samples.journals
        if (decided := _only(sample.decided, sample.replayed))
        + (replayed := _only(sample.replayed, sample.decided))
    ]


def _only(lines: Iterable[Any], others: Iterable[Any]) -> list[str]:
    known = dict.fromkeys(map(str, others))
    return sorted(text for text in map(str, lines) if text not in known)


def _told(what: str, lines: list[str]) -> str:
    return f"{what}: {', '.join(lines[:3]) or 'nothing'}"
