"""What one event led to, and the proof without which none of it is done: the store has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controller.core.effects import Effect
from controller.core.records import Record


class NotDurableError(Exception):
    """A defect: something was about to be done whose decision is not in the journal yet."""


@dataclass(frozen=True, slots=True)
class Durable:
    """Says that every decision up to a number is kept. Only stores make one."""

    journal_number: int


class Decision:
    """Records to be made durable, and the effects that they open once they are."""

    __slots__ = ("_effects", "journal_number", "records")

    def __init__(
        self, journal_number: int, records: Sequence[Record], effects: Sequence[Effect]
    ) -> None:
        """Take what a step brought.

        Args:
            journal_number: of this decision, or of the last one before it if it has no records.
            records: what changed; none for an event that changed nothing.
            effects: what is to be done, in order.
        """
        self.journal_number = journal_number
        self.records = records
        self._effects = effects

    def effects(self, durable: Durable) -> Sequence[Effect]:
        """Return what may be done now.

        Raises:
            NotDurableError: the journal does not have this decision, or one before it.
        """
        if durable.journal_number < self.journal_number:
            raise NotDurableError(
                f"decision {self.journal_number} is to be acted on, "
                f"and the journal is durable up to {durable.journal_number}"
            )
        return self._effects
