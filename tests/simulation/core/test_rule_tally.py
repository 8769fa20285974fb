"""What many seeds reached of the rules."""

from __future__ import annotations

import pytest

from simulation.core.rule_tally import RuleTally, needless, reason_for, unexplained
from simulation.core.rules import RuleOutcome

OUTCOMES = (
    RuleOutcome("m.f", 1, "f", "is entered"),
    RuleOutcome("m.f", 2, "x", "does not hold"),
    RuleOutcome("m.f", 2, "x", "holds"),
    RuleOutcome("m.C.g", 5, "g", "is entered"),
)


def tallied(*seeds: bytes) -> RuleTally:
    tally = RuleTally(OUTCOMES)
    for seen in seeds:
        tally.add(seen)
    return tally


def test_a_rule_tells_how_many_seeds_entered_it_and_how_many_went_every_way() -> None:
    reports = tallied(b"\1\1\0\0", b"\1\0\1\0", b"\1\1\1\0").reports()
    assert reports == [("m.f", 3, 1, ()), ("m.C.g", 0, 0, (OUTCOMES[3],))]


def test_what_no_seed_reached_wants_a_reason() -> None:
    reports = tallied(b"\1\1\0\0").reports()
    assert [each.rule for each in unexplained(reports, {})] == ["m.f", "m.C.g"]
    assert [each.rule for each in unexplained(reports, {"m.C": "why"})] == ["m.f"]
    assert unexplained(reports, {"m": "why"}) == []


def test_what_seeds_reached_needs_no_reason() -> None:
    reasons = {"m.f": "why", "m.C": "why", "m.C.g": "why", "m": "why", "m.F": "no rule"}
    assert needless(tallied(b"\1\1\0\0").reports(), reasons) == ["m.F"]
    assert needless(tallied(b"\1\1\0\0", b"\1\0\1\0").reports(), reasons) == ["m.f", "m.F"]
    assert needless(tallied(b"\1\1\1\1").reports(), reasons) == list(reasons)


def test_the_nearest_reason_is_the_one() -> None:
    reasons = {"m": "all of it", "m.C.g": "this one"}
    assert reason_for("m.C.g", reasons) == "this one"
    assert reason_for("m.C.h", reasons) == "all of it"
    assert reason_for("n.f", reasons) is None


def test_seeds_of_other_code_do_not_count() -> None:
    with pytest.raises(AssertionError, match="other code"):
        tallied(b"\1")
