"""ListOffsets: offsets by version, duplicates refused."""

from __future__ import annotations

import pytest

from broker.engine.types import ListedOffset
from protocol.errors import ErrorCode
from protocol.messages.offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tests.broker.fakes import FakeBroker


def list_offsets(*partitions: int) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        replica_id=-1,
        topics=[
            ListOffsetsTopic(
                name="orders",
                partitions=[
                    ListOffsetsPartition(partition_index=index, timestamp=-1)
                    for index in partitions
                ],
            )
        ],
    )


@pytest.mark.parametrize("version", range(1, 12))
async def test_an_offset_has_its_timestamp_and_epoch(broker: FakeBroker, version: int):
    response = await broker.ask(list_offsets(0), version)
    (partition,) = response.topics[0].partitions
    assert (partition.offset, partition.timestamp) == (10, 5)
    assert partition.leader_epoch == (2 if version >= 4 else -1)


async def test_version_0_answers_with_a_list(broker: FakeBroker):
    response = await broker.ask(list_offsets(0), 0)
    assert list(response.topics[0].partitions[0].old_style_offsets) == [10]
    broker.engine.listed = ListedOffset(ErrorCode.KAFKA_STORAGE_ERROR)
    response = await broker.ask(list_offsets(0), 0)
    assert list(response.topics[0].partitions[0].old_style_offsets) == []
    assert response.topics[0].partitions[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR


async def test_a_partition_listed_twice_is_refused_each_time(broker: FakeBroker):
    response = await broker.ask(list_offsets(0, 1, 0), 7)
    codes = [p.error_code for p in response.topics[0].partitions]
    assert codes == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE, ErrorCode.INVALID_REQUEST]


@pytest.mark.parametrize(
    ("version", "code"),
    [(4, ErrorCode.LEADER_NOT_AVAILABLE), (5, ErrorCode.OFFSET_NOT_AVAILABLE)],
)
async def test_old_clients_get_a_code_they_know(broker: FakeBroker, version: int, code: ErrorCode):
    broker.engine.listed = ListedOffset(ErrorCode.OFFSET_NOT_AVAILABLE)
    response = await broker.ask(list_offsets(0), version)
    assert response.topics[0].partitions[0].error_code == code


async def test_a_defect_marks_every_partition(broker: FakeBroker):
    broker.engine.error = RuntimeError("defect")
    response = await broker.ask(list_offsets(0, 1), 7)
    assert [(p.error_code, p.offset) for p in response.topics[0].partitions] == [(-1, -1)] * 2


@pytest.mark.parametrize(
    ("timestamp", "since"), [(-1, 0), (-2, 0), (-3, 7), (-4, 8), (-5, 9), (-6, 11)]
)
async def test_special_timestamps_have_their_first_version(
    broker: FakeBroker, timestamp: int, since: int
):
    for version in range(12):
        request = list_offsets(0)
        request.topics[0].partitions[0].timestamp = timestamp
        response = await broker.ask(request, version)
        code = response.topics[0].partitions[0].error_code
        expected = ErrorCode.NONE if version >= since else ErrorCode.UNSUPPORTED_VERSION
        assert code == expected


async def test_other_negative_timestamps_are_not_known(broker: FakeBroker):
    request = list_offsets(0)
    request.topics[0].partitions[0].timestamp = -7
    response = await broker.ask(request, 11)
    assert response.topics[0].partitions[0].error_code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize("level", [2, -1])
async def test_an_unknown_isolation_level_fails_every_partition(broker: FakeBroker, level: int):
    request = list_offsets(0, 1)
    request.isolation_level = level
    response = await broker.ask(request, 2)
    codes = [(p.error_code, p.offset) for p in response.topics[0].partitions]
    assert codes == [(ErrorCode.UNKNOWN_SERVER_ERROR, -1)] * 2


async def test_version_0_may_list_a_partition_twice(broker: FakeBroker):
    response = await broker.ask(list_offsets(0, 0), 0)
    assert [list(p.old_style_offsets) for p in response.topics[0].partitions] == [[10], [10]]
