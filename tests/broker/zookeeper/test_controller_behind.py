"""What other brokers ask this one as the controller."""

from __future__ import annotations

from typing import Any

import pytest

from broker.zookeeper.controller_behind import ControllerBehind
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.control import AlterPartitionRequest, AlterPartitionResponse
from protocol.messages.lifecycle import ControlledShutdownRequest
from protocol.ports import RpcPort

_ALTER = AlterPartitionRequest(broker_id=1, broker_epoch=1)


class _Connection:
    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.is_closed = False

    async def request(self, message: Any, version: int, *, timeout_ms: int | None = None) -> Any:
        del message, version, timeout_ms
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def close(self) -> None:
        self.is_closed = True


async def test_each_kind_of_request_has_a_connection_of_its_own() -> None:
    made: list[_Connection] = []

    def connect() -> RpcPort:
        made.append(_Connection(AlterPartitionResponse()))
        return made[-1]

    behind = ControllerBehind(connect)
    for request in (_ALTER, _ALTER, ControlledShutdownRequest(broker_id=1)):
        assert await behind.ask(request, 3) == AlterPartitionResponse()
    assert len(made) == 2
    behind.close()
    assert all(each.is_closed for each in made)


@pytest.mark.parametrize("error", [ConnectionRefusedError("nobody listens"), TimeoutError()])
async def test_a_controller_that_is_not_elected_is_none(error: Exception) -> None:
    behind = ControllerBehind(lambda: _Connection(error))
    with pytest.raises(KafkaError) as raised:
        await behind.ask(_ALTER, 3)
    assert raised.value.code is ErrorCode.NOT_CONTROLLER


async def test_who_takes_a_broker_for_the_controller_that_never_is_one_looks_for_another() -> None:
    behind = ControllerBehind(None)
    with pytest.raises(KafkaError) as raised:
        await behind.ask(_ALTER, 3)
    assert raised.value.code is ErrorCode.NOT_CONTROLLER
