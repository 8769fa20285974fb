"""DeleteTopics: passed on at its own version, and answered even when the controller is silent."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode, KafkaError
from protocol.messages.topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from tests.broker.fakes import TOPIC_ID, FakeBroker


def request(version: int) -> DeleteTopicsRequest:
    if version >= 6:
        return DeleteTopicsRequest(
            topics=[DeleteTopicState(name="old"), DeleteTopicState(name=None, topic_id=TOPIC_ID)],
            timeout_ms=1_234,
        )
    return DeleteTopicsRequest(topic_names=["old"], timeout_ms=1_234)


@pytest.mark.parametrize("version", range(7))
async def test_the_controller_answers(broker: FakeBroker, version: int):
    broker.controller.answer = DeleteTopicsResponse(
        responses=[DeletableTopicResult(name="old", error_code=3)]
    )
    response = await broker.ask(request(version), version)
    assert [(t.name, t.error_code) for t in response.responses] == [("old", 3)]
    assert broker.controller.forwarded[0][1:] == (version, 1_234)


@pytest.mark.parametrize("version", range(7))
async def test_a_silent_controller_is_told_per_topic(broker: FakeBroker, version: int):
    broker.controller.answer = KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    response = await broker.ask(request(version), version)
    expected = ["old", None] if version >= 6 else ["old"]
    assert [t.name for t in response.responses] == expected
    assert {t.error_code for t in response.responses} == {7}
