from __future__ import annotations

import pytest

from simulation.core.actions import CreateTopic, Holds
from simulation.core.conditions import AllOf, FullIsr, Leader
from simulation.core.plan_words import ACTIONS, CONDITIONS, duration_ms, duration_text, words_of


def test_a_word_is_the_name_of_its_class() -> None:
    assert ACTIONS["create_topic"] is CreateTopic
    assert CONDITIONS["full_isr"] is FullIsr
    assert CONDITIONS["all"] is AllOf


def test_no_word_is_an_action_and_a_condition_or_a_key_of_a_step() -> None:
    assert [word for word in ACTIONS if word in CONDITIONS or word in ("at", "says")] == []


def test_a_field_is_written_without_its_unit_and_its_underscore() -> None:
    assert [word.word for word in words_of(Leader)] == ["of", "is"]
    assert [(word.word, word.is_beside) for word in words_of(Holds)] == [
        ("condition", False),
        ("for", True),
    ]


@pytest.mark.parametrize(
    ("text", "ms"), [("0ms", 0), ("1500ms", 1500), ("2s", 2000), ("3min", 180_000)]
)
def test_a_time_is_written_in_its_largest_unit(text: str, ms: int) -> None:
    assert duration_ms(text) == ms
    assert duration_text(ms) == text


@pytest.mark.parametrize("text", ["2", "s", "2h", "1.5s", ""])
def test_other_texts_are_no_time(text: str) -> None:
    assert duration_ms(text) is None
