from __future__ import annotations

from controller.core.records import BrokerUnfenced, ProducerIdsAllocated
from simulation.core.checkers.journal import check_journal
from simulation.core.samples import JournalSample
from tests.simulation.core.checkers.build import Story


def test_the_same_state_is_fine_in_any_order() -> None:
    story = Story()
    records = (ProducerIdsAllocated(5), BrokerUnfenced(1))
    story.samples.journals.append(JournalSample(7, records, records[::-1]))

    assert check_journal(story.evidence) == []


def test_another_state_is_told_with_what_differs() -> None:
    story = Story()
    story.samples.journals.append(
        JournalSample(
            7,
            (ProducerIdsAllocated(5), BrokerUnfenced(1)),
            (ProducerIdsAllocated(4), BrokerUnfenced(1)),
        )
    )

    (violation,) = check_journal(story.evidence)

    assert violation.at_us == 7
    assert "only decided: ProducerIdsAllocated" in violation.text
    assert violation.text.count("5") == 1
    assert "only replayed: ProducerIdsAllocated" in violation.text


def test_a_record_that_was_never_written_down_is_told() -> None:
    story = Story()
    story.samples.journals.append(JournalSample(7, (BrokerUnfenced(1),), ()))

    (violation,) = check_journal(story.evidence)

    assert violation.text.endswith("only replayed: nothing")
