"""A broker's control plane over a ZooKeeper in memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from broker.lifecycle.identity import Identity
from broker.zookeeper.control_plane import ZookeeperControlPlane
from protocol.errors import ErrorCode
from protocol.messages.control import AlterPartitionRequest, AlterPartitionResponse
from protocol.messages.lifecycle import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationResponse,
    Listener,
)
from protocol.ports import RpcPort
from protocol.security.listeners import SecurityProtocol, plain_listener
from protocol.zookeeper.paths import LOG_DIR_EVENTS, MADE_BY_BROKERS
from tests.protocol.zookeeper_client.fake_zookeeper import FakeZookeeper

DIR_A, DIR_B = b"a" * 16, b"b" * 16
IDENTITY = Identity(
    broker_id=3,
    cluster_id="ty_BIV9ZR9mRqM4ivvtUyg",
    incarnation_id=bytes(16),
    listeners=(plain_listener("127.0.0.1", 9094, "127.0.0.1", 9094),),
    port=9094,
    rack="r1",
)


class _Clock:
    def now_ms(self) -> int:
        return 1795469808935


class _Controller:
    """The broker that is the controller."""

    def __init__(self, answers: list[Any]) -> None:
        self.answers = answers
        self.on_asked: Callable[[], None] = lambda: None

    async def request(self, message: Any, version: int, *, timeout_ms: int | None = None) -> Any:
        del message, version, timeout_ms
        self.on_asked()
        return self.answers.pop(0)

    def close(self) -> None:
        """Nothing to drop."""


class _Lab:
    def __init__(self, *answers: Any) -> None:
        self.zookeeper = FakeZookeeper()
        self.controller = _Controller(list(answers))
        self.addresses: list[tuple[str, int]] = []
        self.plane = ZookeeperControlPlane(self.zookeeper, self._connect, _Clock(), "PLAINTEXT")
        self.port = self.plane.connect()

    def _connect(self, host: str, port: int) -> RpcPort:
        self.addresses.append((host, port))
        return self.controller

    async def register(self) -> BrokerRegistrationResponse:
        request = IDENTITY.registration(directory_ids=[DIR_A, DIR_B], previous_broker_epoch=-1)
        return await self.port.request(request, 4, timeout_ms=1000)

    async def beat(self, *offline: bytes, **wants: bool) -> BrokerHeartbeatResponse:
        request = BrokerHeartbeatRequest(
            broker_id=3,
            broker_epoch=101,
            current_metadata_offset=0,
            want_fence=wants.get("want_fence", False),
            want_shut_down=wants.get("want_shut_down", False),
            offline_log_dirs=list(offline),
        )
        return await self.port.request(request, 2, timeout_ms=1000)

    def controller_is(self, broker_id: int) -> None:
        controller = {"version": 2, "brokerid": broker_id, "timestamp": "1"}
        self.zookeeper.znodes["/controller"] = json.dumps(controller).encode()
        broker = {"endpoints": [f"PLAINTEXT://127.0.0.1:{9090 + broker_id}"], "version": 5}
        self.zookeeper.znodes[f"/brokers/ids/{broker_id}"] = json.dumps(broker).encode()


async def test_a_broker_makes_the_paths_and_the_cluster_id_only_where_there_are_none() -> None:
    lab = _Lab()
    assert await lab.plane.prepare("first") == "first"
    assert set(MADE_BY_BROKERS) <= set(lab.zookeeper.znodes)
    assert await lab.plane.prepare("second") == "first"


async def test_a_cluster_that_jbodlab_begins_gives_apache_kafka_no_empty_body_to_read() -> None:
    lab = _Lab()
    await lab.plane.prepare("first")
    # With an empty body there its controller gives out no producer ids.
    assert sorted(lab.zookeeper.server.without_body) == sorted(MADE_BY_BROKERS)


async def test_a_broker_registers_with_the_bytes_of_apache_kafka_and_the_czxid_as_epoch() -> None:
    lab = _Lab()
    await lab.plane.prepare(IDENTITY.cluster_id)
    response = await lab.register()
    assert (response.error_code, response.broker_epoch) == (0, 101)
    assert lab.zookeeper.znodes["/brokers/ids/3"].decode() == (
        '{"features":{},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},'
        '"endpoints":["PLAINTEXT://127.0.0.1:9094"],"rack":"r1","jmx_port":-1,"port":9094,'
        '"host":"127.0.0.1","version":5,"timestamp":"1795469808935"}'
    )


async def test_every_listener_is_registered_and_the_old_keys_name_the_plain_one() -> None:
    lab = _Lab()
    await lab.plane.prepare(IDENTITY.cluster_id)
    request = IDENTITY.registration(directory_ids=[DIR_A], previous_broker_epoch=-1)
    inside = Listener(name="INSIDE", host="in", port=1, security_protocol=SecurityProtocol.SASL_SSL)
    plain = Listener(name="OUT", host="out", port=2, security_protocol=0)
    await lab.port.request(replace(request, listeners=[inside, plain]), 4, timeout_ms=1000)
    found = json.loads(lab.zookeeper.znodes["/brokers/ids/3"])
    assert found["listener_security_protocol_map"] == {"INSIDE": "SASL_SSL", "OUT": "PLAINTEXT"}
    assert found["endpoints"] == ["INSIDE://in:1", "OUT://out:2"]
    assert (found["host"], found["port"]) == ("out", 2)


async def test_a_registration_of_another_session_is_waited_for() -> None:
    lab = _Lab()
    await lab.plane.prepare(IDENTITY.cluster_id)
    lab.zookeeper.znodes["/brokers/ids/3"] = b"{}"
    response = await lab.register()
    assert response.error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION


async def test_each_failed_log_dir_is_told_once_by_a_notice_of_its_own() -> None:
    lab = _Lab()
    await lab.plane.prepare(IDENTITY.cluster_id)
    await lab.register()
    for offline in ([], [DIR_A], [DIR_A], [DIR_A, DIR_B], [DIR_A, DIR_B]):
        response = await lab.beat(*offline)
        assert (response.error_code, response.is_fenced) == (0, False)
    names = lab.zookeeper.names(LOG_DIR_EVENTS)
    assert names == ["log_dir_event_0000000000", "log_dir_event_0000000001"]
    assert lab.zookeeper.znodes[f"{LOG_DIR_EVENTS}/{names[0]}"] == (
        b'{"version":1,"broker":3,"event":1}'
    )


async def test_a_lost_connection_is_waited_for_and_an_expired_session_registers_again() -> None:
    lab = _Lab()
    await lab.plane.prepare(IDENTITY.cluster_id)
    await lab.register()
    lab.zookeeper.lose()
    with pytest.raises(ConnectionError):
        await lab.beat()
    lab.zookeeper.connect(is_expired=False)
    assert (await lab.beat()).error_code == ErrorCode.NONE
    lab.zookeeper.connect()
    assert (await lab.beat()).error_code == ErrorCode.STALE_BROKER_EPOCH
    assert (await lab.register()).broker_epoch == 102
    assert (await lab.beat()).error_code == ErrorCode.NONE


async def test_a_broker_that_leaves_may_go_at_once_and_takes_its_registration_along() -> None:
    lab = _Lab()
    await lab.plane.prepare(IDENTITY.cluster_id)
    await lab.register()
    assert (await lab.beat(want_shut_down=True)).should_shut_down
    await lab.beat(want_fence=True)
    assert "/brokers/ids/3" not in lab.zookeeper.znodes


async def test_what_only_the_controller_answers_goes_to_its_broker_and_to_the_next_one() -> None:
    moved = AlterPartitionResponse(error_code=ErrorCode.NOT_CONTROLLER)
    lab = _Lab(moved, AlterPartitionResponse())
    await lab.plane.prepare(IDENTITY.cluster_id)
    lab.controller_is(1)
    request = AlterPartitionRequest(broker_id=3, broker_epoch=101)
    lab.controller.on_asked = lambda: lab.controller_is(2)
    response = await lab.port.request(request, 3, timeout_ms=5000)
    assert response.error_code == ErrorCode.NONE
    assert lab.addresses == [("127.0.0.1", 9091), ("127.0.0.1", 9092)]
