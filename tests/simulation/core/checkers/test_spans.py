from __future__ import annotations

from simulation.core.checkers.spans import spans_of
from tests.simulation.core.checkers.build import Story


def test_begins_are_paired_with_their_ends_and_what_never_ended_is_left_out() -> None:
    story = Story()
    first = story.begin_send(1)
    second = story.begin_send(2)
    story.begin_send(3)
    second.ok(second.value)
    first.unknown("timed out")

    spans = spans_of(story.evidence.history)

    assert [(span.begin.number, span.end.number) for span in spans] == [(1, 3), (0, 4)]
