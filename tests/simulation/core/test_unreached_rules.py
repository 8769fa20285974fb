"""The reasons for what sweeps leave out name what is there."""

from __future__ import annotations

from simulation.core.rule_tally import is_within
from simulation.core.unreached_rules import REASONS
from simulation.rule_watch import all_outcomes


def test_every_reason_is_one_for_a_rule_a_class_or_a_module_that_exists() -> None:
    rules = {outcome.rule for outcome in all_outcomes()}
    stale = [name for name in REASONS if not any(is_within(rule, name) for rule in rules)]
    assert stale == []


def test_reasons_are_sentences() -> None:
    assert all(reason.endswith(".") and len(reason) > 20 for reason in REASONS.values())
