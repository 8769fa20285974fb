"""Producer ids: no id twice, one block at a time."""

from __future__ import annotations

import asyncio

import pytest

from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.producer_ids import ProducerIds
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.producer_ids import AllocateProducerIdsRequest
from tests.broker.fake_controller import FakeController

KEPT: list[int] = []


async def keep(end: int) -> None:
    KEPT.append(end)


@pytest.fixture
def producer_ids(link: ControllerLink) -> ProducerIds:
    return ProducerIds(link, broker_id=1, broker_epoch=lambda: 7, keep=keep)


async def test_ids_come_from_blocks_in_order(controller: FakeController, producer_ids: ProducerIds):
    ids = await asyncio.gather(*(producer_ids.next_producer_id() for _ in range(5)))
    assert ids == [0, 1, 2, 3, 4]
    requests = controller.of(AllocateProducerIdsRequest)
    assert [(r.broker_id, r.broker_epoch) for r in requests] == [(1, 7)] * 3


async def test_no_block_means_try_again(controller: FakeController, producer_ids: ProducerIds):
    controller.allocate_code = ErrorCode.STALE_BROKER_EPOCH
    with pytest.raises(KafkaError, match="STALE_BROKER_EPOCH") as error:
        await producer_ids.next_producer_id()
    assert error.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    controller.allocate_code = ErrorCode.NONE
    assert await producer_ids.next_producer_id() == 0


async def test_no_controller_means_try_again(controller: FakeController, producer_ids: ProducerIds):
    await controller.stop()
    with pytest.raises(KafkaError) as error:
        await producer_ids.next_producer_id()
    assert error.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
