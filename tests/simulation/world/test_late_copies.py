"""What leaders asked of the controller arrives once more, late, and only where it was done."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

from protocol.errors import ErrorCode
from protocol.messages.control import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    AlterPartitionResponseTopicData,
)
from protocol.messages.lifecycle import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from simulation.world.late_copies import LateCopies

COUNT = 200
DONE = AlterPartitionResponse()
REFUSED = AlterPartitionResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
REFUSED_IN_PART = AlterPartitionResponse(
    topics=[
        AlterPartitionResponseTopicData(
            topic_name="t",
            partitions=[
                AlterPartitionResponsePartitionData(
                    partition_index=0, error_code=ErrorCode.INELIGIBLE_REPLICA
                )
            ],
        )
    ]
)


class Answering:
    """Has each request answered, and tells of that, as a controller does."""

    def __init__(self, response: Any) -> None:
        self.asked: list[tuple[Any, int]] = []
        self._response = response
        self.copies = LateCopies(self.ask, Random(7))

    async def ask(self, request: Any, version: int) -> Any:
        self.asked.append((request, version))
        self.copies.answered(request, self._response)


async def asked_again(request: type[Any], response: Any) -> list[tuple[Any, int]]:
    answering = Answering(response)
    for broker_id in range(COUNT):
        answering.copies.answered(request(broker_id=broker_id), response)
    assert answering.asked == []
    await asyncio.sleep(60)
    return answering.asked


async def test_some_of_what_was_done_is_asked_once_more_and_later() -> None:
    asked = await asked_again(AlterPartitionRequest, DONE)
    assert COUNT / 5 < len(asked) < COUNT / 2
    assert {version for _, version in asked} == {3}
    assert len({request.broker_id for request, _ in asked}) == len(asked)


async def test_what_was_refused_is_not_asked_again() -> None:
    assert await asked_again(AlterPartitionRequest, REFUSED) == []
    assert await asked_again(AlterPartitionRequest, REFUSED_IN_PART) == []


async def test_only_leaders_repeat_what_they_ask() -> None:
    assert await asked_again(BrokerHeartbeatRequest, BrokerHeartbeatResponse()) == []
