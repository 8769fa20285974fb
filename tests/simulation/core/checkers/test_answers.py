from __future__ import annotations

from simulation.core.checkers.answers import check_answers
from simulation.core.history import Kind
from simulation.core.samples import Misanswer
from tests.simulation.core.checkers.build import Story


def _texts(story: Story) -> list[str]:
    return [violation.text for violation in check_answers(story.evidence)]


def test_operations_that_begin_and_end_are_fine() -> None:
    story = Story()
    story.send(1)
    first, second = story.begin_send(2), story.begin_send(3)
    second.unknown("timed out")
    first.fail("MESSAGE_TOO_LARGE")

    assert _texts(story) == []


def test_a_request_that_was_misanswered_is_told() -> None:
    story = Story()
    story.samples.misanswers.append(Misanswer(5, "writer to broker-1", 0, 17, "was never answered"))

    assert _texts(story) == ["writer to broker-1: request 17 of API 0 was never answered"]


def test_an_operation_that_never_ended_is_told() -> None:
    story = Story()
    story.begin_send(1)

    assert _texts(story) == ["send of writer (entry 0) never ended"]


def test_an_operation_that_ended_twice_is_told() -> None:
    story = Story()
    story.send(1)
    story.history.operations.append(story.history.operations[-1]._replace(number=2))

    assert _texts(story) == ["send of writer (entry 2) ended without a begin, or twice"]


def test_a_process_does_one_thing_at_a_time() -> None:
    story = Story()
    story.send(1)
    begun, ended = story.history.operations
    story.history.operations[:] = [begun, begun._replace(number=1), ended._replace(number=2)]

    assert begun.kind is Kind.INVOKE
    assert _texts(story) == [
        "send of writer (entry 0) had not ended when its process began the next one"
    ]
