"""What many seeds reached of the rules, rule by rule. It runs nothing and prints nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from simulation.core.rules import RuleOutcome


class RuleReport(NamedTuple):
    """One rule after a sweep."""

    rule: str
    entered: int
    """Seeds that entered it."""
    whole: int
    """Seeds that reached every outcome in it."""
    never: tuple[RuleOutcome, ...]
    """What no seed reached; all of them where nobody entered it."""


class RuleTally:
    """Counts the seeds that reached each outcome."""

    def __init__(self, outcomes: Sequence[RuleOutcome]) -> None:
        self.seeds = 0
        self._outcomes = outcomes
        self._counts = [0] * len(outcomes)
        self._rules: dict[str, list[int]] = {}
        for index, outcome in enumerate(outcomes):
            self._rules.setdefault(outcome.rule, []).append(index)
        self._whole = dict.fromkeys(self._rules, 0)

    def add(self, seen: bytes) -> None:
        """Count one seed; ``seen`` has a byte for each outcome, 1 where it was reached."""
        assert len(seen) == len(self._counts), "the seed ran other code"
        self.seeds += 1
        for index, flag in enumerate(seen):
            self._counts[index] += flag
        for rule, indexes in self._rules.items():
            self._whole[rule] += all(seen[index] for index in indexes)

    def reports(self) -> list[RuleReport]:
        """Return every rule, in the order of the outcomes."""
        return [
            RuleReport(
                rule,
                self._counts[indexes[0]],
                self._whole[rule],
                tuple(self._outcomes[each] for each in indexes if not self._counts[each]),
            )
            for rule, indexes in self._rules.items()
        ]


def reason_for(rule: str, reasons: Mapping[str, str]) -> str | None:
    """Return why a rule may stay unreached: its own reason, or that of its class or module."""
    name = rule
    while name:
        if name in reasons:
            return reasons[name]
        name = name.rpartition(".")[0]
    return None


def unexplained(reports: Sequence[RuleReport], reasons: Mapping[str, str]) -> list[RuleReport]:
    """Return the rules with outcomes that no seed reached and nobody gave a reason for."""
    return [
        report for report in reports if report.never and reason_for(report.rule, reasons) is None
    ]


def needless(reports: Sequence[RuleReport], reasons: Mapping[str, str]) -> list[str]:
    """Return the names with a reason under which seeds reached every outcome: none is needed.

    A name that no rule has is one of them.
    """
    unreached = [report.rule for report in reports if report.never]
    return [name for name in reasons if not any(is_within(rule, name) for rule in unreached)]


def is_within(rule: str, name: str) -> bool:
    """Tell whether a name is that of a rule, or of its class or module."""
    return rule == name or rule.startswith(f"{name}.")
