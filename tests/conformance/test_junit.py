from __future__ import annotations

from xml.etree.ElementTree import fromstring

from conformance.core.differences import Difference
from conformance.core.verdicts import KnownDifference, Outcome, Verdict
from conformance.junit import junit


def test_every_case_is_a_test_case_of_its_groups_suite() -> None:
    known = KnownDifference(4, "sizes", "Sizes of frames", ["a/*"], ["*"])
    wrong = [Difference("0.x", 1, None)]
    verdicts = [
        Verdict("a/b@v1", "it", Outcome.PASSED),
        Verdict("a/b@v2", "it", Outcome.VIOLATION, wrong),
        Verdict("a/b@v3", "it", Outcome.KNOWN, wrong, [known]),
        Verdict("c/d@v0", "it", Outcome.TOO_FEW_BROKERS),
    ]
    root = fromstring(junit(verdicts, "kafka-3.9"))
    told = [(s.get("name"), s.get("tests"), s.get("failures"), s.get("skipped")) for s in root]
    assert told == [("a", "3", "1", "1"), ("c", "1", "0", "1")]
    failures = [each.get("message") for each in root.iter("failure")]
    assert failures == ["0.x: expected 1, got null"]
    skipped = [each.get("message") for each in root.iter("skipped")]
    assert skipped == ["known difference 4 (sizes)", "too few brokers"]
