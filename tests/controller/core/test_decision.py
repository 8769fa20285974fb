"""No effect without the proof that the journal has the decision behind it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import controller
from controller.core.decision import Decision, Durable, NotDurableError
from controller.core.effects import Answer
from controller.core.records import ProducerIdsAllocated

EFFECTS = [Answer(1, "done")]


def test_effects_open_once_the_journal_has_their_decision() -> None:
    decision = Decision(7, [ProducerIdsAllocated(1000)], EFFECTS)

    assert decision.effects(Durable(7)) == EFFECTS
    assert decision.effects(Durable(8)) == EFFECTS


def test_effects_of_a_decision_that_is_not_durable_are_refused() -> None:
    decision = Decision(7, [ProducerIdsAllocated(1000)], EFFECTS)

    with pytest.raises(NotDurableError, match=r"decision 7 .* durable up to 6"):
        decision.effects(Durable(6))


def test_an_answer_that_changes_nothing_waits_for_the_decisions_before_it() -> None:
    """What it says may rest on them."""
    with pytest.raises(NotDurableError):
        Decision(7, [], EFFECTS).effects(Durable(6))


def test_only_stores_say_that_something_is_durable() -> None:
    folder = Path(controller.__file__ or "").parent
    makers = [
        path.relative_to(folder).as_posix()
        for path in sorted(folder.rglob("*.py"))
        if re.search(r"(?<!class )\bDurable\(", path.read_text())
    ]

    assert makers == ["core/store.py", "journal.py", "zookeeper/store.py"]
