"""OffsetForLeaderEpoch: one answer per partition."""

from __future__ import annotations

import pytest

from broker.engine.types import EpochAnswer
from protocol.errors import ErrorCode
from protocol.messages.offsets import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.broker.fakes import FakeBroker


def question() -> OffsetForLeaderEpochRequest:
    return OffsetForLeaderEpochRequest(
        topics=[
            OffsetForLeaderTopic(
                topic="orders",
                partitions=[OffsetForLeaderPartition(partition=0, leader_epoch=3)],
            )
        ],
    )


@pytest.mark.parametrize("version", range(5))
async def test_the_end_of_an_epoch_is_told(broker: FakeBroker, version: int):
    response = await broker.ask(question(), version)
    (partition,) = response.topics[0].partitions
    assert partition.end_offset == 30
    assert partition.leader_epoch == (3 if version >= 1 else -1)


async def test_an_error_has_no_offset(broker: FakeBroker):
    broker.engine.epoch_answer = EpochAnswer(ErrorCode.KAFKA_STORAGE_ERROR)
    response = await broker.ask(question(), 4)
    (partition,) = response.topics[0].partitions
    assert (partition.error_code, partition.leader_epoch, partition.end_offset) == (56, -1, -1)
