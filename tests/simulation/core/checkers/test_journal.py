from __future__ import annotations

from simulation.core.checkers.journal import check_journal
from simulation.core.samples import JournalSample
from tests.simulation.core.checkers.build import Story


def test_the_same_state_is_fine_in_any_order() -> None:
    story = Story()
    lines = ("next_producer_id: 5", "brokers 1: live")
    story.samples.journals.append(JournalSample(7, lines, lines[::-1]))

    assert check_journal(story.evidence) == []


def test_another_state_is_told_with_what_differs() -> None:
    story = Story()
    story.samples.journals.append(
        JournalSample(
            7,
            ("next_producer_id: 5", "brokers 1: live"),
            ("next_producer_id: 4", "brokers 1: live"),
        )
    )

    (violation,) = check_journal(story.evidence)

    assert violation.at_us == 7
    assert "only decided: next_producer_id" in violation.text
    assert violation.text.count("5") == 1
    assert "only replayed: next_producer_id" in violation.text


def test_a_line_that_was_never_written_down_is_told() -> None:
    story = Story()
    story.samples.journals.append(JournalSample(7, ("brokers 1: live",), ()))

    (violation,) = check_journal(story.evidence)

    assert violation.text.endswith("only replayed: nothing")
