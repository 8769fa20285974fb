"""StopReplica: the delete flag of old layouts holds for every partition."""

from __future__ import annotations

import asyncio

import pytest

from protocol.messages.control import (
    StopReplicaPartitionState,
    StopReplicaPartitionV0,
    StopReplicaRequest,
    StopReplicaTopicState,
    StopReplicaTopicV1,
)
from tests.broker.fakes import FakeBroker


def request(version: int) -> StopReplicaRequest:
    made = StopReplicaRequest(controller_id=100, controller_epoch=1)
    if version >= 3:
        made.topic_states = [
            StopReplicaTopicState(
                topic_name="orders",
                partition_states=[
                    StopReplicaPartitionState(
                        partition_index=index, leader_epoch=4, delete_partition=True
                    )
                    for index in (0, 1)
                ],
            )
        ]
        return made
    made.delete_partitions = True
    if version >= 1:
        made.topics = [StopReplicaTopicV1(name="orders", partition_indexes=[0, 1])]
    else:
        made.ungrouped_partitions = [
            StopReplicaPartitionV0(topic_name="orders", partition_index=index) for index in (0, 1)
        ]
    return made


@pytest.mark.parametrize("version", range(5))
async def test_every_layout_reaches_the_engine_as_states(broker: FakeBroker, version: int):
    response = await broker.ask(request(version), version)
    (given,) = broker.engine.stop_replica_requests
    (topic,) = given.topic_states
    epoch = 4 if version >= 3 else -1
    assert [
        (s.partition_index, s.leader_epoch, s.delete_partition) for s in topic.partition_states
    ] == [(0, epoch, True), (1, epoch, True)]
    assert [(e.topic_name, e.partition_index) for e in response.partition_errors] == [
        ("orders", 0),
        ("orders", 1),
    ]


async def test_a_defect_marks_the_top_and_every_partition(broker: FakeBroker):
    broker.engine.error = RuntimeError("defect")
    response = await broker.ask(request(1), 1)
    assert response.error_code == -1
    assert [e.error_code for e in response.partition_errors] == [-1, -1]


async def test_it_waits_until_the_broker_knows_its_epoch(broker: FakeBroker):
    """A controller that has not heard of this process may speak to the one before."""
    broker.epoch_known.clear()
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(broker.ask(request(4), 4))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not broker.engine.stop_replica_requests
        assert not asking.done()
        broker.epoch_known.set()

    assert broker.engine.stop_replica_requests
