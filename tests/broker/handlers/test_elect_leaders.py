"""ElectLeaders: passed on at its own version, and answered even when the controller is silent."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode, KafkaError
from protocol.messages.elections import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from tests.broker.fakes import FakeBroker


def request() -> ElectLeadersRequest:
    topics = [TopicPartitions(topic="orders", partitions=[0, 1])]
    return ElectLeadersRequest(topic_partitions=topics, timeout_ms=1_234)


@pytest.mark.parametrize("version", range(3))
async def test_the_controller_answers(broker: FakeBroker, version: int):
    broker.controller.answer = ElectLeadersResponse()
    response = await broker.ask(request(), version)
    assert list(response.replica_election_results) == []
    assert broker.controller.forwarded[0][1:] == (version, 1_234)


@pytest.mark.parametrize("version", range(3))
async def test_a_silent_controller_is_told_per_partition(broker: FakeBroker, version: int):
    broker.controller.answer = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "silent")
    response = await broker.ask(request(), version)
    assert response.error_code == (7 if version >= 1 else 0)
    (topic,) = response.replica_election_results
    assert [(p.partition_id, p.error_code) for p in topic.partition_result] == [(0, 7), (1, 7)]


async def test_all_partitions_have_no_rows_to_refuse(broker: FakeBroker):
    broker.controller.answer = KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    response = await broker.ask(ElectLeadersRequest(topic_partitions=None), 2)
    assert (response.error_code, list(response.replica_election_results)) == (7, [])
