"""LeaderAndIsr: old layouts become the new one, and the answer goes back in the caller's."""

from __future__ import annotations

import asyncio

import pytest

from protocol.errors import ErrorCode
from protocol.messages.control import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from tests.broker.fakes import TOPIC_ID, FakeBroker


def state(index: int, version: int) -> LeaderAndIsrPartitionState:
    made = LeaderAndIsrPartitionState(
        partition_index=index, leader=1, leader_epoch=0, isr=[1], replicas=[1, 2]
    )
    if version <= 1:
        made.topic_name = "orders"
    return made


def request(version: int) -> LeaderAndIsrRequest:
    made = LeaderAndIsrRequest(controller_id=100, controller_epoch=1)
    states = [state(index, version) for index in (0, 1)]
    if version <= 1:
        made.ungrouped_partition_states = states
        return made
    topic = LeaderAndIsrTopicState(topic_name="orders", partition_states=states)
    if version >= 5:
        topic.topic_id = TOPIC_ID
    made.topic_states = [topic]
    return made


@pytest.mark.parametrize("version", range(8))
async def test_every_layout_reaches_the_engine_grouped_by_topic(broker: FakeBroker, version: int):
    broker.engine.control_code = ErrorCode.KAFKA_STORAGE_ERROR
    response = await broker.ask(request(version), version)
    (given,) = broker.engine.leader_and_isr_requests
    (topic,) = given.topic_states
    assert topic.topic_name == "orders"
    assert [s.partition_index for s in topic.partition_states] == [0, 1]
    if version >= 5:
        assert bytes(response.topics[0].topic_id) == TOPIC_ID
        errors = response.topics[0].partition_errors
    else:
        errors = response.partition_errors
        assert [e.topic_name for e in errors] == ["orders", "orders"]
    assert [(e.partition_index, e.error_code) for e in errors] == [(0, 56), (1, 56)]


async def test_the_settings_of_its_topics_are_at_hand_before_the_engine_acts(
    broker: FakeBroker,
):
    await broker.ask(request(7), 7)
    assert broker.topic_configs.ensured == ["orders"]
    assert broker.topic_configs.ids == {"orders": TOPIC_ID}


@pytest.mark.parametrize("version", [0, 3, 7])
async def test_a_defect_marks_the_top_and_every_partition(broker: FakeBroker, version: int):
    broker.engine.error = RuntimeError("defect")
    response = await broker.ask(request(version), version)
    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    errors = response.topics[0].partition_errors if version >= 5 else response.partition_errors
    assert [e.error_code for e in errors] == [-1, -1]


async def test_it_waits_until_the_broker_knows_its_epoch(broker: FakeBroker):
    """A controller that has not heard of this process may speak to the one before."""
    broker.epoch_known.clear()
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(broker.ask(request(7), 7))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not broker.engine.leader_and_isr_requests
        assert not asking.done()
        broker.epoch_known.set()

    assert broker.engine.leader_and_isr_requests
