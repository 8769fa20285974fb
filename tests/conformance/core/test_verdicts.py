from __future__ import annotations

from conformance.core.expectations import Expectations
from conformance.core.verdicts import (
    KnownDifference,
    Outcome,
    api_name,
    judge,
    judge_announced,
)

KNOWN = [
    KnownDifference(4, "what", "where", ["frames/*"], ["0.came.*"]),
    KnownDifference(5, "what", "where", ["announced/Fetch"], ["*"]),
]


def test_what_is_as_recorded_passes() -> None:
    assert judge("a/b@v1", "it", [{"x": 1}], [{"x": 1}]).outcome is Outcome.PASSED


def test_a_difference_is_a_violation_that_tells_both_values() -> None:
    found = judge("a/b@v1", "it", [{"x": 1}], [{"x": 2}], KNOWN)
    assert found.outcome is Outcome.VIOLATION
    assert [(each.path, each.expected, each.got) for each in found.differences] == [("0.x", 1, 2)]


def test_a_known_difference_excuses_its_places_and_no_other() -> None:
    expected = [{"came": [1], "sent": 1}]
    excused = judge("frames/sizes@v0", "it", expected, [{"came": [2], "sent": 1}], KNOWN)
    assert (excused.outcome, excused.known) == (Outcome.KNOWN, KNOWN[:1])
    both = judge("frames/sizes@v0", "it", expected, [{"came": [2], "sent": 2}], KNOWN)
    assert both.outcome is Outcome.VIOLATION


def test_a_case_that_could_not_be_carried_out_is_a_violation() -> None:
    found = judge("a/b@v1", "it", [], "nobody answers")
    assert found.outcome is Outcome.VIOLATION
    assert found.differences[0].got == "nobody answers"


def test_versions_announced_are_compared_api_by_api() -> None:
    release = Expectations("3.9.2", 3, {0: (0, 11), 1: (0, 17), 71: (0, 0)}, {})
    found = judge_announced(release, {0: (0, 11), 1: (0, 18), 3: (0, 1)}, KNOWN)
    assert {each.name: each.outcome for each in found} == {
        "announced/Produce": Outcome.PASSED,
        "announced/Fetch": Outcome.KNOWN,
        "announced/Metadata": Outcome.VIOLATION,
        "announced/GetTelemetrySubscriptions": Outcome.VIOLATION,
    }
    assert api_name(9999) == "key 9999"
