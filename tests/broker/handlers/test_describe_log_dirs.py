"""DescribeLogDirs: every log dir, offline ones with 56 and nothing else."""

from __future__ import annotations

import pytest

from broker.engine.types import LogDirDescription, ReplicaDescription
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from tests.broker.fakes import FakeBroker

ORDERS_0 = TopicPartition("orders", 0)


def described() -> list[LogDirDescription]:
    replicas = [
        ReplicaDescription(ORDERS_0, 100, 0, is_future=False),
        ReplicaDescription(TopicPartition("other", 0), 5, 0, is_future=False),
        ReplicaDescription(TopicPartition("orders", 1), 7, 3, is_future=True),
    ]
    return [
        LogDirDescription("/d1", ErrorCode.NONE, 1_000, 900, is_cordoned=True, replicas=replicas),
        LogDirDescription("/d2", ErrorCode.KAFKA_STORAGE_ERROR, -1, -1, is_cordoned=False),
    ]


@pytest.mark.parametrize("version", range(6))
async def test_log_dirs_and_replicas_arrive_at_every_version(broker: FakeBroker, version: int):
    broker.engine.described = described()
    response = await broker.ask(DescribeLogDirsRequest(topics=None), version)
    good, bad = response.results
    assert (good.log_dir, good.error_code) == ("/d1", 0)
    assert [t.name for t in good.topics] == ["orders", "other"]
    first, moving = good.topics[0].partitions
    assert (first.partition_index, first.partition_size, first.is_future_key) == (0, 100, False)
    assert (moving.partition_index, moving.offset_lag, moving.is_future_key) == (1, 3, True)
    assert (bad.log_dir, bad.error_code, list(bad.topics)) == ("/d2", 56, [])
    assert (good.total_bytes, good.usable_bytes) == ((1_000, 900) if version >= 4 else (-1, -1))
    assert good.is_cordoned == (version >= 5)


async def test_null_topics_ask_for_all_and_an_empty_list_for_none(broker: FakeBroker):
    await broker.ask(DescribeLogDirsRequest(topics=None), 4)
    assert broker.engine.described_filter is None
    await broker.ask(DescribeLogDirsRequest(topics=[]), 4)
    assert broker.engine.described_filter == {}


async def test_a_topic_listed_twice_asks_for_the_partitions_of_both(broker: FakeBroker):
    topics = [
        DescribableLogDirTopic(topic="orders", partitions=[0]),
        DescribableLogDirTopic(topic="orders", partitions=[1]),
    ]
    await broker.ask(DescribeLogDirsRequest(topics=topics), 4)
    assert broker.engine.described_filter == {"orders": [0, 1]}
