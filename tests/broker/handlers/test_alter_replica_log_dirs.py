"""AlterReplicaLogDirs: wishes in, one code per replica out."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from tests.broker.fakes import FakeBroker


def wish(path: str, *partitions: int) -> AlterReplicaLogDir:
    topic = AlterReplicaLogDirTopic(name="orders", partitions=list(partitions))
    return AlterReplicaLogDir(path=path, topics=[topic])


@pytest.mark.parametrize("version", range(3))
async def test_each_replica_gets_its_code(broker: FakeBroker, version: int):
    broker.engine.move_codes[TopicPartition("orders", 1)] = ErrorCode.LOG_DIR_NOT_FOUND
    request = AlterReplicaLogDirsRequest(dirs=[wish("/d1", 0, 1)])
    response = await broker.ask(request, version)
    (topic,) = response.results
    assert topic.topic_name == "orders"
    assert [(p.partition_index, p.error_code) for p in topic.partitions] == [(0, 0), (1, 57)]


async def test_of_a_replica_listed_twice_the_last_wish_counts(broker: FakeBroker):
    request = AlterReplicaLogDirsRequest(dirs=[wish("/d1", 0, 1), wish("/d2", 0)])
    response = await broker.ask(request, 2)
    assert dict(broker.engine.wishes) == {
        TopicPartition("orders", 0): "/d2",
        TopicPartition("orders", 1): "/d1",
    }
    assert [p.partition_index for p in response.results[0].partitions] == [0, 1]


async def test_no_dirs_give_no_results(broker: FakeBroker):
    response = await broker.ask(AlterReplicaLogDirsRequest(dirs=[]), 2)
    assert list(response.results) == []


async def test_a_refusal_repeats_what_was_listed_in_its_order(broker: FakeBroker):
    broker.engine.error = KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    request = AlterReplicaLogDirsRequest(dirs=[wish("/d1", 1, 0), wish("/d2", 0)])
    response = await broker.ask(request, 2)
    listed = [(p.partition_index, p.error_code) for t in response.results for p in t.partitions]
    assert listed == [(1, 31), (0, 31), (0, 31)]
