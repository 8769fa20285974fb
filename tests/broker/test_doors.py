"""A broker's doors: one for each listener, where clients of tokens come in as their owners."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

import pytest

from benchmarks.certificates import Authority
from broker.doors import Doors, config_at
from broker.lifecycle.broker_configs import BrokerConfigs
from broker.lifecycle.config_news import make_config_news
from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.group_configs import GroupConfigs
from broker.lifecycle.topic_configs import TopicConfigs
from broker.node_connections import NodeConnections
from broker.world import real_world
from protocol.cluster_file.spec import cluster_spec
from protocol.configs.broker import BrokerConfig
from protocol.connection import Peer, RequestReceived
from protocol.ports import Buffer, RpcPort
from protocol.principal import Principal
from protocol.security.delegation_tokens import hmac_text
from protocol.security.sasl_client import Login, authenticates
from protocol.security.tls import own_name
from protocol.transport.door import Key
from protocol.transport.network_faults import NetworkFaults
from protocol.transport.rpc_client import RpcClient
from protocol.transport.rpc_server import RpcServer
from tests.deadlines import DEADLINE_S
from tests.protocol.transport.raw_client import HOST, METADATA

AUTHORITY = Authority()
CONFIGS = {
    "listeners": "CLIENTS://127.0.0.1:9094,PLAINTEXT://127.0.0.1:9095,C://127.0.0.1:9096",
    "control.plane.listener.name": "C",
    "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT,C:SASL_PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "jbodlab.sasl.users": "broker:secret",
    "delegation.token.secret.key": "key",
    "connection.failed.authentication.delay.ms": "1",
}
FILE = {
    "cluster_id": "lab",
    "controller": {"port": 9090},
    "configs": CONFIGS,
    "brokers": [{"id": 1, "port": 9094, "log_dirs": [{"path": "d"}]}],
}


def _nobody() -> RpcPort:
    return RpcClient(host=HOST, port=1, client_id="c")


async def name_peer(_request: RequestReceived, peer: Peer) -> list[Buffer]:
    return [f"{peer.principal} {peer.is_by_token}".encode()]


async def ask(port: int, login: Login) -> str:
    key = Key(authenticate=authenticates(login))
    client = RpcClient(host=HOST, port=port, client_id="c", key=key)
    try:
        async with asyncio.timeout(DEADLINE_S):
            return bytes(await client.request_raw(METADATA, 1, [b""])).decode()
    finally:
        client.close()


async def test_a_token_lets_its_clients_in_until_it_is_gone() -> None:
    own = cluster_spec(FILE, base_dir=Path("/"), source="f").broker(1)
    link, world = ControllerLink(_nobody), real_world(Random(1))
    brokers = BrokerConfigs(link, broker_id=1, static=CONFIGS, on_changed=lambda _config: None)
    topics = TopicConfigs(link, broker_config=brokers.config, on_changed=lambda _topics: None)
    groups = GroupConfigs(link, broker_config=brokers.config)
    news = make_config_news(link, own, brokers, topics, groups, world)
    network = NetworkFaults("broker-1", chance=Random(0), nodes={})
    spec = cluster_spec(FILE, base_dir=Path("/"), source="f")
    connections = NodeConnections(spec, own, network)
    doors = Doors(own, news, world.clock.now_ms, connections).by_listener
    assert list(doors) == ["PLAINTEXT", "CLIENTS", "C"]
    tokens = news.delegation_tokens.tokens
    alice = Principal("alice")
    token = tokens.new("id", alice, alice, (), -1, world.clock.now_ms())
    tokens.keep(token)
    server = RpcServer(name_peer)
    port = await server.start(HOST, 0, doors["CLIENTS"])
    try:
        login = Login("SCRAM-SHA-256", "id", hmac_text(tokens.hmac_of(token)), is_token=True)
        assert await ask(port, login) == "User:alice True"
        tokens.forget("id")
        with pytest.raises(ConnectionError, match="invalid credentials"):
            await ask(port, login)
    finally:
        async with asyncio.timeout(DEADLINE_S):
            await server.stop()
        link.close()


def test_each_listener_has_the_certificate_of_its_own_keys() -> None:
    nodes, clients = AUTHORITY.sign("nodes"), AUTHORITY.sign("clients")
    configs = {
        "listeners": "CLIENTS://127.0.0.1:9094,NODES://127.0.0.1:9095",
        "listener.security.protocol.map": "CLIENTS:SSL,NODES:SSL",
        "inter.broker.listener.name": "NODES",
        "ssl.keystore.certificate.chain": nodes.certificate,
        "ssl.keystore.key": nodes.key,
        "ssl.truststore.certificates": AUTHORITY.certificate,
        "listener.name.clients.ssl.keystore.certificate.chain": clients.certificate,
        "listener.name.clients.ssl.keystore.key": clients.key,
        "listener.name.nodes.ssl.client.auth": "required",
    }
    own = cluster_spec({**FILE, "configs": configs}, base_dir=Path("/"), source="f").broker(1)
    at = {each.name: config_at(each, own.configs) for each in own.listeners}
    assert [own_name(at[name]) for name in ("NODES", "CLIENTS")] == [
        own_name(
            BrokerConfig(ssl_keystore_certificate_chain=each.certificate, ssl_keystore_key="k")
        )
        for each in (nodes, clients)
    ]
    assert [at[name].ssl_client_auth for name in ("NODES", "CLIENTS")] == ["required", "none"]
