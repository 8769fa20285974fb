"""Where the controller is looked for; ``test_control_plane`` has the rest."""

from __future__ import annotations

import pytest

from broker.zookeeper.controller_broker import ControllerBroker
from protocol.messages.control import AlterPartitionRequest
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
