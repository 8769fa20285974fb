"""DeleteRecords: one answer per partition."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.topics import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.broker.fakes import FakeBroker


def request(*offsets: tuple[int, int]) -> DeleteRecordsRequest:
    partitions = [
        DeleteRecordsPartition(partition_index=index, offset=offset) for index, offset in offsets
    ]
    topic = DeleteRecordsTopic(name="orders", partitions=partitions)
    return DeleteRecordsRequest(topics=[topic], timeout_ms=500)


@pytest.mark.parametrize("version", range(3))
async def test_offsets_and_the_timeout_are_passed_on(broker: FakeBroker, version: int) -> None:
    response = await broker.ask(request((0, 7), (1, 9)), version)
    asked = [(TopicPartition("orders", 0), 7), (TopicPartition("orders", 1), 9)]
    assert broker.engine.deleted == [(asked, 500)]
    (topic,) = response.topics
    assert [(p.partition_index, p.low_watermark, p.error_code) for p in topic.partitions] == [
        (0, 7, 0),
        (1, 9, 0),
    ]


@pytest.mark.parametrize(
    ("release", "is_enough"), [(None, False), ("4.1", False), ("4.2", True), ("4.3", True)]
)
async def test_an_empty_cleanup_policy_is_enough_in_releases_from_4_2_on(
    broker: FakeBroker, release: str | None, is_enough: bool
) -> None:
    broker.context.release = release
    await broker.ask(request((0, 7)), 2)
    assert broker.engine.is_empty_enough is is_enough


async def test_each_partition_has_its_own_error(broker: FakeBroker) -> None:
    broker.engine.delete_codes[TopicPartition("orders", 1)] = ErrorCode.OFFSET_OUT_OF_RANGE
    response = await broker.ask(request((0, 7), (1, 9)), 2)
    assert [p.error_code for p in response.topics[0].partitions] == [0, 1]


async def test_of_a_partition_named_twice_the_last_offset_counts(broker: FakeBroker) -> None:
    response = await broker.ask(request((0, 7), (0, 8)), 2)
    (partition,) = response.topics[0].partitions
    assert partition.low_watermark == 8


async def test_a_topic_of_which_no_partition_is_named_is_not_in_the_answer(
    broker: FakeBroker,
) -> None:
    assert list((await broker.ask(request(), 2)).topics) == []
