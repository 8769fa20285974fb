"""Whether a broker joins a ZooKeeper, and whom changed settings reach."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from benchmarks.certificates import Authority
from broker.lifecycle.broker_configs import BrokerConfigs
from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.fetched_configs import FetchedConfigs
from broker.lifecycle.topic_configs import TopicConfigs
from broker.lifecycle.zookeeper_plane import (
    Followed,
    follow_config_changes,
    refusal_of_zookeeper,
    zookeeper_plane,
)
from broker.world import real_world
from protocol.cluster_file.spec import cluster_spec
from protocol.errors import KafkaError
from protocol.messages.lifecycle import ControlledShutdownRequest
from protocol.metrics.rows import RowOrigin
from protocol.ports import RpcPort
from protocol.security.tls import SecurityConfigError
from protocol.zookeeper.paths import (
    ACL_CHANGES,
    CONFIG_CHANGE_PREFIX,
    TOKEN_CHANGE_PREFIX,
    TOKEN_CHANGES,
)
from tests.protocol.zookeeper_client.fake_zookeeper import FakeZookeeper

_SHUTDOWN = ControlledShutdownRequest(broker_id=2)
FILE = {
    "cluster_id": "lab",
    "controller": {"port": 9090},
    "brokers": [{"id": 3, "port": 9094, "log_dirs": [{"path": "d"}]}],
}


def _no_controller() -> RpcPort:
    raise AssertionError("is asked of the one that stands for election")


def _nobody(host: str, port: int) -> RpcPort:
    raise AssertionError(f"{host}:{port} is asked")


async def test_only_a_cluster_file_that_names_a_zookeeper_has_a_control_plane_there() -> None:
    fake = FakeZookeeper()
    world = replace(real_world(Random(1), RowOrigin()), zookeeper=fake.made_for)
    without = cluster_spec(FILE, base_dir=Path("/"), source="f")
    assert zookeeper_plane(without, without.broker(3), world, _nobody, _no_controller) is None
    named = {**FILE, "zookeeper": {"connect": "127.0.0.1:2181/kafka"}}
    spec = cluster_spec(named, base_dir=Path("/"), source="f")
    plane = zookeeper_plane(spec, spec.broker(3), world, _nobody, _no_controller)
    assert plane is not None
    with pytest.raises(KafkaError):
        await plane.controller_behind.ask(_SHUTDOWN, 3)


async def test_a_broker_whose_id_the_controller_has_stands_for_election() -> None:
    fake = FakeZookeeper()
    world = replace(real_world(Random(1), RowOrigin()), zookeeper=fake.made_for)
    named = {**FILE, "zookeeper": {"connect": "127.0.0.1:2181"}}
    spec = cluster_spec(
        {**named, "controller": {"port": 9090, "id": 3}}, base_dir=Path("/"), source="f"
    )
    plane = zookeeper_plane(spec, spec.broker(3), world, _nobody, _no_controller)
    assert plane is not None
    with pytest.raises(AssertionError, match="is asked of the one"):
        await plane.controller_behind.ask(_SHUTDOWN, 3)


@pytest.mark.parametrize(
    ("there", "connects", "refusal"),
    [
        ("lab", True, ""),
        ("other", True, "is other, the cluster file says lab: set cluster_id to other"),
        ("lab", False, "no ZooKeeper at 127.0.0.1:2181 within 20 ms: see zookeeper.connect"),
    ],
)
async def test_a_broker_says_why_it_does_not_join(there: str, connects: bool, refusal: str) -> None:
    fake = FakeZookeeper() if connects else DeafZookeeper()
    fake.znodes["/cluster/id"] = b'{"version":"1","id":"%s"}' % there.encode()
    world = replace(real_world(Random(1), RowOrigin()), zookeeper=fake.made_for)
    named = {**FILE, "zookeeper": {"connect": "127.0.0.1:2181", "session_timeout_ms": 20}}
    spec = cluster_spec(named, base_dir=Path("/"), source="f")
    plane = zookeeper_plane(spec, spec.broker(3), world, _nobody, _no_controller)
    assert (await refusal_of_zookeeper(plane, spec)).endswith(refusal)


async def test_a_broker_that_cannot_speak_tls_with_zookeeper_says_so(tmp_path: Path) -> None:
    fake = DeafZookeeper()
    world = replace(real_world(Random(1), RowOrigin()), zookeeper=fake.made_for)
    configs = {
        "zookeeper.ssl.client.enable": True,
        "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
        "zookeeper.ssl.truststore.location": "ca.pem",
    }
    zookeeper = {"connect": "z1:2182", "session_timeout_ms": 20}
    document = {**FILE, "zookeeper": zookeeper, "configs": configs}
    spec = cluster_spec(document, base_dir=tmp_path, source="f")
    with pytest.raises(SecurityConfigError, match=r"ssl\.truststore\.location: .*ca\.pem"):
        zookeeper_plane(spec, spec.broker(3), world, _nobody, _no_controller)

    (tmp_path / "ca.pem").write_text(Authority().certificate)
    plane = zookeeper_plane(spec, spec.broker(3), world, _nobody, _no_controller)
    assert fake.tls is not None
    fake.trouble = "another CA"
    refusal = await refusal_of_zookeeper(plane, spec)
    assert refusal == "no ZooKeeper at z1:2182 within 20 ms: see zookeeper.connect (another CA)"


class DeafZookeeper(FakeZookeeper):
    """Never connects."""

    def start(self) -> None:
        """Nobody answers."""


class Counted(FetchedConfigs):
    """Counts how often it is asked for again."""

    count = 0

    async def _fetch(self) -> None:
        self.count += 1


async def test_settings_that_change_in_zookeeper_are_read_again() -> None:
    fake = FakeZookeeper()
    world = replace(real_world(Random(1), RowOrigin()), zookeeper=fake.made_for)
    named = {**FILE, "zookeeper": {"connect": "127.0.0.1:2181"}}
    spec = cluster_spec(named, base_dir=Path("/"), source="f")
    plane = zookeeper_plane(spec, spec.broker(3), world, _nobody, _no_controller)
    assert plane is not None
    link = ControllerLink(plane.connect)
    brokers = BrokerConfigs(link, broker_id=3, static={}, on_changed=lambda _config: None)
    topics = TopicConfigs(link, broker_config=brokers.config, on_changed=lambda _topics: None)
    of_clients, acls, tokens = Counted("of clients"), Counted("ACLs"), Counted("tokens")
    follow_config_changes(plane, 3, topics, brokers, Followed(acls, tokens, [of_clients]))
    await plane.prepare("lab")
    runs = (plane.follow_changes, topics.run, brokers.run, of_clients.run, acls.run, tokens.run)
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(run()) for run in runs]
        await _settle()
        fake.znodes["/config/topics/t"] = b'{"version":1,"config":{"retention.ms":"60000"}}'
        fake.put_sequential(CONFIG_CHANGE_PREFIX, b'{"version":2,"entity_path":"topics/t"}')
        fake.znodes["/config/brokers/3"] = b'{"version":1,"config":{"log.cleaner.threads":"2"}}'
        fake.put_sequential(CONFIG_CHANGE_PREFIX, b'{"version":2,"entity_path":"brokers/3"}')
        fake.put_sequential(CONFIG_CHANGE_PREFIX, b'{"version":2,"entity_path":"clients/c"}')
        fake.server.put(ACL_CHANGES[0], b"")
        fake.put_sequential(f"{ACL_CHANGES[0]}/acl_changes_", b"Topic:t")
        fake.server.put(TOKEN_CHANGES, b"")
        fake.put_sequential(TOKEN_CHANGE_PREFIX, b"id")
        await _settle()
        for each in running:
            each.cancel()
    assert topics.config_of("t").retention_ms == 60000
    assert brokers.overrides.dynamic == {"log.cleaner.threads": "2"}
    assert (of_clients.count, acls.count, tokens.count) == (1, 1, 1)
    link.close()


async def _settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)
