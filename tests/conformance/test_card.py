from __future__ import annotations

from io import StringIO

from rich.console import Console

from conformance.card import card, content
from conformance.core.differences import Difference
from conformance.core.verdicts import KnownDifference, Outcome, Verdict

WRONG = [Difference(f"0.came.{n}.body.errorCode", 0, "x" * 500) for n in range(6)]
KNOWN = KnownDifference(4, "sizes have another sign", "Sizes of frames", ["frames/*"], ["*"])
VERDICTS = [
    Verdict("minimal/Fetch@v4", "The least request", Outcome.PASSED),
    Verdict("minimal/Fetch@v5", "The least request", Outcome.VIOLATION, WRONG),
    Verdict("minimal/Fetch@v6", "The least request", Outcome.NOT_ANNOUNCED),
    Verdict("frames/sizes@v0", "Sizes", Outcome.KNOWN, WRONG[:1], [KNOWN]),
]


def shown(verdicts: list[Verdict]) -> str:
    out = StringIO()
    Console(file=out, width=80).print(card(verdicts, "kafka-3.9", "jbodlab conform"))
    return out.getvalue()


def test_the_card_counts_by_group_and_tells_how_to_repeat_a_violation() -> None:
    lines = shown(VERDICTS).splitlines()
    assert max(map(len, lines)) <= 80
    counts = [line.split()[-3:] for line in lines if line.startswith("the least request")]
    assert counts == [["1", "1", "1"]]
    text = "\n".join(lines)
    assert "again: jbodlab conform --only 'minimal/Fetch@v5'" in text
    assert "and 2 more: --json has them" in text
    assert "known difference 4 (sizes have another sign): frames/sizes@v0" in text
    assert "4 cases judged by kafka-3.9: 1 violation(s)" in text


def test_a_card_without_violations_says_so() -> None:
    assert "no violation" in shown(VERDICTS[:1])


def test_the_json_document_has_every_difference() -> None:
    form = content(VERDICTS, "kafka-3.9", ["conform-left"])
    assert (form["violations"], form["left_behind"]) == (1, ["conform-left"])
    assert [each["outcome"] for each in form["cases"]] == [
        "passed",
        "violation",
        "not announced",
        "known difference",
    ]
    assert len(form["cases"][1]["differences"]) == len(WRONG)
    told = {"number": 4, "what": "sizes have another sign", "row": "Sizes of frames"}
    assert form["cases"][3]["known_differences"] == [told]
