"""CreateTopics: passed on at its own version, and answered even when the controller is silent."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode, KafkaError
from protocol.messages.topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tests.broker.fakes import FakeBroker


def request() -> CreateTopicsRequest:
    topic = CreatableTopic(name="new", num_partitions=3, replication_factor=2)
    return CreateTopicsRequest(topics=[topic], timeout_ms=1_234)


@pytest.mark.parametrize("version", range(8))
async def test_the_controller_answers(broker: FakeBroker, version: int):
    broker.controller.answer = CreateTopicsResponse(
        topics=[CreatableTopicResult(name="new", error_code=36, error_message="exists")]
    )
    response = await broker.ask(request(), version)
    assert [(t.name, t.error_code) for t in response.topics] == [("new", 36)]
    ((forwarded, at_version, timeout_ms),) = broker.controller.forwarded
    assert (forwarded.topics[0].num_partitions, at_version, timeout_ms) == (3, version, 1_234)


@pytest.mark.parametrize("version", range(8))
async def test_a_silent_controller_is_told_per_topic(broker: FakeBroker, version: int):
    broker.controller.answer = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "silent")
    response = await broker.ask(request(), version)
    assert [(t.name, t.error_code) for t in response.topics] == [("new", 7)]
    assert response.topics[0].error_message == ("silent" if version >= 1 else "")
