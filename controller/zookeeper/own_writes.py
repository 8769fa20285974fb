"""How far a term's own decisions are written, for whoever reads what others write."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from controller.core.decision import Decision
from controller.core.own_writes import subjects_of


class OwnWrites:
    """Of one term: its store notes, its news ask."""

    def __init__(self) -> None:
        self.up_to = 0
        """All decisions up to this number are in ZooKeeper."""
        self.told: Callable[[str], None] = lambda _subject: None
        """Called with what was changed, as ``controller.core.own_writes`` names it, afterwards."""

    def note(self, decisions: Sequence[Decision]) -> None:
        """Take what has just been written."""
        self.up_to = decisions[-1].journal_number
        for subject in dict.fromkeys(
            each for decision in decisions for each in subjects_of(decision.records)
        ):
            self.told(subject)
