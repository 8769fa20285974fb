"""The controller tells nobody of a decision that its journal could still lose.

Held by the number of the decision that the controller names, and by what its messages say.
"""

from __future__ import annotations

from typing import Final

from simulation.core.checkers.evidence import Evidence, Violation

NAME: Final = "journal first"


def check_journal_first(evidence: Evidence) -> list[Violation]:
    """Look at what the controller did before the disk of its journal had the reason for it."""
    return [
        Violation(
            NAME,
            each.at_us,
            f"the controller acted on decision {each.journal_number} "
            f"when its journal was durable up to {each.durable_number}",
        )
        for each in evidence.samples.acts_before_sync
    ] + [
        Violation(NAME, each.at_us, f"the controller's {each.text}")
        for each in evidence.samples.told_before_sync
    ]
