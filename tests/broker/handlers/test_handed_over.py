"""What brokers ask the controller is handed over by a broker that stands for election."""

from __future__ import annotations

from typing import Any

import pytest

from broker.handlers import FOR_CONTROLLER, HANDLERS, handlers_of, served
from broker.handlers.handed_over import hand_over
from broker.zookeeper.controller_behind import ControllerBehind
from protocol.apis import APIS
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.control import AlterPartitionRequest, AlterPartitionResponse
from protocol.messages.lifecycle import ControlledShutdownRequest
from protocol.messages.producer_ids import AllocateProducerIdsRequest
from tests.broker.fakes import FakeBroker

NAMES = {"AlterPartition", "ControlledShutdown", "AllocateProducerIds"}


class _Elected:
    async def request(self, message: Any, version: int, *, timeout_ms: int | None = None) -> Any:
        del message, timeout_ms
        return AlterPartitionResponse(error_code=version)

    def close(self) -> None:
        """Nothing to drop."""


async def test_it_is_announced_by_brokers_that_stand_for_election_only(broker: FakeBroker) -> None:
    assert handlers_of(broker.context) is HANDLERS
    broker.context.controller_behind = ControllerBehind(_Elected)
    further = served(None, handlers_of(broker.context)).keys() - served(None).keys()
    assert {APIS[key].name for key in further} == NAMES


async def test_the_controller_behind_answers(broker: FakeBroker) -> None:
    broker.context.controller_behind = ControllerBehind(_Elected)
    request = AlterPartitionRequest(broker_id=1, broker_epoch=1)
    assert await hand_over(broker.context, request, 3) == AlterPartitionResponse(error_code=3)


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (AlterPartitionRequest(broker_id=1, broker_epoch=1), ErrorCode.NOT_CONTROLLER),
        (ControlledShutdownRequest(broker_id=1), ErrorCode.STALE_CONTROLLER_EPOCH),
        (AllocateProducerIdsRequest(broker_id=1), ErrorCode.NOT_CONTROLLER),
    ],
)
async def test_without_one_the_code_is_kafkas(
    broker: FakeBroker, request_: Any, code: ErrorCode
) -> None:
    with pytest.raises(KafkaError) as raised:
        await hand_over(broker.context, request_, 0)
    (handler,) = [
        each for each in FOR_CONTROLLER.values() if isinstance(request_, each.api.request)
    ]
    assert handler.refuse(request_, 0, raised.value).error_code == code
