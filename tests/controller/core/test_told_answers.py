"""When a request is answered whose results stand once brokers were told."""

from __future__ import annotations

from random import Random

import pytest

from controller.core.effects import Answer, Effect
from controller.core.events import RequestArrived
from controller.core.run_state import RunState
from controller.core.state import ClusterState
from controller.core.step import Step
from controller.core.told_answers import answer_once_told
from protocol.errors import ErrorCode
from protocol.messages.control import UpdateMetadataRequest
from protocol.messages.topics import DeletableTopicResult, DeleteTopicsRequest
from tests.controller.core.cluster import registered, settings

NONE, TIMED_OUT = ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def effects_of(*, timeout_ms: int, is_waiting: bool) -> tuple[list[Effect], Step]:
    """Delete a topic that is there and one that is not, while broker 1 is being told."""
    state = ClusterState()
    for record in registered(1, 1):
        record.apply(state)
    step = Step(state, RunState(), settings(), Random(0), now_ms=100)
    step.connect(1)
    step.send(1, UpdateMetadataRequest())
    step.effects.clear()
    results = [DeletableTopicResult(name="a"), DeletableTopicResult(name="b", error_code=UNKNOWN)]
    answer_once_told(
        step,
        RequestArrived(7, DeleteTopicsRequest(timeout_ms=timeout_ms), 3),
        results,
        lambda answered: [result.error_code for result in answered],
        lambda result: DeletableTopicResult(name=result.name, error_code=TIMED_OUT),
        is_waiting=is_waiting,
    )
    return step.effects, step


def test_what_nobody_is_told_of_is_answered_at_once() -> None:
    effects, step = effects_of(timeout_ms=1000, is_waiting=False)
    assert effects == [Answer(7, [NONE, UNKNOWN])]
    assert step.run.waiting == []


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_who_does_not_wait_is_told_that_it_is_not_done_yet(timeout_ms: int) -> None:
    effects, step = effects_of(timeout_ms=timeout_ms, is_waiting=True)
    assert effects == [Answer(7, [TIMED_OUT, UNKNOWN])]
    assert step.run.waiting == []


@pytest.mark.parametrize("timeout_ms", [1, 1000])
def test_who_waits_is_answered_when_brokers_know_or_its_time_is_over(timeout_ms: int) -> None:
    effects, step = effects_of(timeout_ms=timeout_ms, is_waiting=True)
    assert effects == []
    (waiting,) = step.run.waiting
    assert waiting.done == Answer(7, [NONE, UNKNOWN])
    assert waiting.late == Answer(7, [TIMED_OUT, UNKNOWN])
    assert waiting.deadline_ms == 100 + timeout_ms
