from __future__ import annotations

from simulation.core.checkers.journal_first import check_journal_first
from simulation.core.samples import ActBeforeSync
from tests.simulation.core.checkers.build import Story


def test_acts_on_durable_decisions_are_fine() -> None:
    assert check_journal_first(Story().evidence) == []


def test_an_act_on_a_decision_that_could_still_be_lost_is_told_with_both_numbers() -> None:
    story = Story()
    story.samples.acts_before_sync.append(ActBeforeSync(7, 12, 11))

    (violation,) = check_journal_first(story.evidence)

    assert violation.at_us == 7
    assert "acted on decision 12" in violation.text
    assert "durable up to 11" in violation.text
