"""CreatePartitions: passed on at its own version, answered even when the controller is silent."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode, KafkaError
from protocol.messages.topics import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from tests.broker.fakes import FakeBroker


def request() -> CreatePartitionsRequest:
    topic = CreatePartitionsTopic(name="orders", count=5, assignments=None)
    return CreatePartitionsRequest(topics=[topic], timeout_ms=1_234)


@pytest.mark.parametrize("version", range(4))
async def test_the_controller_answers(broker: FakeBroker, version: int):
    broker.controller.answer = CreatePartitionsResponse(
        results=[CreatePartitionsTopicResult(name="orders", error_code=37)]
    )
    response = await broker.ask(request(), version)
    assert [(t.name, t.error_code) for t in response.results] == [("orders", 37)]
    assert broker.controller.forwarded[0][1:] == (version, 1_234)


async def test_a_silent_controller_is_told_per_topic(broker: FakeBroker):
    broker.controller.answer = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "silent")
    response = await broker.ask(request(), 3)
    assert [(t.name, t.error_code, t.error_message) for t in response.results] == [
        ("orders", 7, "silent")
    ]
