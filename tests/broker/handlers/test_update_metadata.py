"""UpdateMetadata: every layout ends in the image; deleted and reconfigured topics are noticed."""

from __future__ import annotations

import asyncio

import pytest

from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID, TopicPartition
from protocol.messages.control import (
    UpdateMetadataBroker,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from tests.broker.fakes import FakeBroker, topic_state, update_metadata


def in_version(version: int) -> UpdateMetadataRequest:
    topic = topic_state("fresh", topic_id=ZERO_UUID if version < 7 else bytes([7] * 16))
    made = update_metadata(topic)
    if version < 5:
        made.topic_states = []
        made.broker_epoch = -1
        made.ungrouped_partition_states = topic.partition_states
        for state in topic.partition_states:
            state.topic_name = "fresh"
    if version == 0:
        made.live_brokers = [UpdateMetadataBroker(id=3, v0_host="h", v0_port=9)]
    return made


@pytest.mark.parametrize("version", range(9))
async def test_every_layout_ends_in_the_image(broker: FakeBroker, version: int):
    response = await broker.ask(in_version(version), version)
    assert response.error_code == ErrorCode.NONE
    assert broker.engine.metadata.leader_of(TopicPartition("fresh", 1)) == (2, 0)
    ports = [one.port for one in broker.engine.metadata.live_brokers()]
    assert ports == ([9] if version == 0 else [9091, 9092])


async def test_a_deleted_topic_leaves_the_image(broker: FakeBroker):
    await broker.ask(update_metadata(topic_state(leaders=(-2, -2))), 8)
    assert not broker.engine.metadata.has_topic("orders")


@pytest.mark.parametrize("name", ["orders", ""])
async def test_rows_without_partitions_are_news_and_leave_the_image_as_it_is(
    broker: FakeBroker, name: str
):
    topic_id = topic_state().topic_id if name else ZERO_UUID
    bump = UpdateMetadataTopicState(topic_name=name, topic_id=topic_id)
    await broker.ask(update_metadata(bump), 8)
    (told,) = broker.config_news.requests
    assert [row.topic_name for row in told.topic_states] == [name]
    assert [topic.name for topic in broker.engine.metadata.topics()] == ["orders"]


async def test_a_refused_update_changes_nothing(broker: FakeBroker):
    broker.engine.control_code = ErrorCode.STALE_CONTROLLER_EPOCH
    response = await broker.ask(update_metadata(topic_state(leaders=(-2, -2))), 8)
    assert response.error_code == ErrorCode.STALE_CONTROLLER_EPOCH
    assert broker.config_news.requests == []


async def test_a_defect_is_told_at_the_top(broker: FakeBroker):
    broker.engine.error = RuntimeError("defect")
    assert (await broker.ask(update_metadata(), 8)).error_code == -1


async def test_it_waits_until_the_broker_knows_its_epoch(broker: FakeBroker):
    """A controller that has not heard of this process may speak to the one before."""
    broker.epoch_known.clear()
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(broker.ask(in_version(8), 8))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not broker.engine.metadata.has_partition(TopicPartition("fresh", 1))
        assert not asking.done()
        broker.epoch_known.set()

    assert broker.engine.metadata.has_partition(TopicPartition("fresh", 1))
