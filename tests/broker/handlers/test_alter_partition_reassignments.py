"""AlterPartitionReassignments: passed on at its own version; a silent controller has a code."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode, KafkaError
from protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from tests.broker.fakes import FakeBroker


def request() -> AlterPartitionReassignmentsRequest:
    partitions = [
        ReassignablePartition(partition_index=0, replicas=[1, 2]),
        ReassignablePartition(partition_index=3, replicas=None),
    ]
    topics = [ReassignableTopic(name="orders", partitions=partitions)]
    return AlterPartitionReassignmentsRequest(topics=topics, timeout_ms=1_234)


@pytest.mark.parametrize("version", range(2))
async def test_the_controller_answers(broker: FakeBroker, version: int):
    broker.controller.answer = AlterPartitionReassignmentsResponse(error_message="")
    response = await broker.ask(request(), version)
    assert list(response.responses) == []
    assert broker.controller.forwarded[0][1:] == (version, 1_234)


@pytest.mark.parametrize("version", range(2))
async def test_a_silent_controller_is_told_per_partition(broker: FakeBroker, version: int):
    broker.controller.answer = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "silent")
    response = await broker.ask(request(), version)
    assert (response.error_code, response.error_message) == (7, "silent")
    (topic,) = response.responses
    assert [(p.partition_index, p.error_code) for p in topic.partitions] == [(0, 7), (3, 7)]
