"""Queues and buffers keep to their bounds, and processes to a pace."""

from __future__ import annotations

from typing import Final

from simulation.core.checkers.evidence import Evidence, Violation

NAME: Final = "bounds"


def check_bounds(evidence: Evidence) -> list[Violation]:
    """Look at the most that each ever held."""
    return [
        Violation(
            NAME, each.at_us, f"{each.node}: {each.name} was {each.value}, its bound {each.bound}"
        )
        for each in evidence.samples.gauges
        if each.value > each.bound
    ]
