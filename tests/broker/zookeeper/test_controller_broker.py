"""Where the controller is looked for; ``test_control_plane`` has the rest."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from broker.zookeeper.controller_broker import ControllerBroker
from protocol.errors import ErrorCode
from protocol.messages.control import AlterPartitionRequest, AlterPartitionResponse
from protocol.messages.topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from protocol.ports import RpcPort
from tests.protocol.zookeeper_client.fake_zookeeper import FakeZookeeper

BROKER_2 = b'{"endpoints":["SSL://127.0.0.1:9092"],"version":5}'
CONTROLLER_2 = b'{"version":2,"brokerid":2,"timestamp":"1","kraftControllerEpoch":-1}'


def _nobody(host: str, port: int) -> RpcPort:
    raise AssertionError(f"{host}:{port} is asked")


@pytest.mark.parametrize(
    ("znodes", "why"),
    [
        ({}, "ZooKeeper knows no controller"),
        ({"/controller": CONTROLLER_2}, "the controller, broker 2, is not registered"),
        (
            {"/controller": CONTROLLER_2, "/brokers/ids/2": BROKER_2},
            "the controller, broker 2, has no listener PLAINTEXT",
        ),
    ],
    ids=["none", "gone", "other-listener"],
)
async def test_a_controller_that_cannot_be_asked_is_a_lost_connection(
    znodes: dict[str, bytes], why: str
) -> None:
    zookeeper = FakeZookeeper()
    zookeeper.start()
    zookeeper.znodes.update(znodes)
    port = ControllerBroker(zookeeper, _nobody, "PLAINTEXT")
    with pytest.raises(ConnectionError, match=why):
        await port.request(AlterPartitionRequest(broker_id=3, broker_epoch=1), 3)


class Answering:
    """A broker that answers the same each time."""

    def __init__(self, code: ErrorCode, asked: list[int], port: int) -> None:
        self._code, self._asked, self._port = code, asked, port

    async def request(self, message: Any, version: int, *, timeout_ms: int | None = None) -> Any:
        self._asked.append(self._port)
        if isinstance(message, DeleteTopicsRequest):
            answers = [DeletableTopicResult(name="t", error_code=self._code)]
            return DeleteTopicsResponse(responses=answers)
        return AlterPartitionResponse(error_code=self._code, topics=[])

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize(
    ("request_", "version"),
    [
        (AlterPartitionRequest(broker_id=3, broker_epoch=1), 3),
        (DeleteTopicsRequest(topic_names=["t"]), 5),
    ],
    ids=["as a whole", "topic by topic"],
)
async def test_the_next_controller_is_asked_when_this_one_is_none_any_more(
    request_: Any, version: int
) -> None:
    zookeeper = FakeZookeeper()
    zookeeper.start()
    zookeeper.znodes.update({"/controller": CONTROLLER_2, "/brokers/ids/2": BROKER_2})
    asked: list[int] = []

    def connect(_host: str, port: int) -> RpcPort:
        other = {"/controller": b'{"version":2,"brokerid":3,"timestamp":"1"}'}
        zookeeper.znodes.update({**other, "/brokers/ids/3": BROKER_2.replace(b"9092", b"9093")})
        code = ErrorCode.NOT_CONTROLLER if port == 9092 else ErrorCode.NONE
        return Answering(code, asked, port)

    await ControllerBroker(zookeeper, connect, "SSL").request(request_, version)
    assert asked == [9092, 9093]


async def test_another_controller_is_asked_as_soon_as_it_is_one() -> None:
    """The one before would go on answering, by what it has not heard yet."""
    zookeeper = FakeZookeeper()
    zookeeper.start()
    brokers = {
        f"/brokers/ids/{each}": BROKER_2.replace(b"9092", b"909%d" % each) for each in (2, 3)
    }
    zookeeper.znodes.update({"/controller": CONTROLLER_2, **brokers})
    asked: list[int] = []
    port = ControllerBroker(
        zookeeper, lambda _host, port: Answering(ErrorCode.NONE, asked, port), "SSL"
    )
    request = AlterPartitionRequest(broker_id=3, broker_epoch=1)
    await port.request(request, 3)
    zookeeper.server.put("/controller", b'{"version":2,"brokerid":3,"timestamp":"1"}')
    await asyncio.sleep(0)
    for _ in range(2):
        await port.request(request, 3)
    assert asked == [9092, 9093, 9093]
