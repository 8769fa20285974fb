"""Each connection of a broker has the key of the listener that it leads to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from broker.node_connections import NodeConnections
from protocol.cluster_file.spec import ClusterSpec
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.transport.network_faults import NetworkFaults
from protocol.transport.rpc_client import RpcClient
from tests.broker.one_broker import cluster_spec
from tests.deadlines import DEADLINE_S

HOST = "127.0.0.1"
API_VERSIONS, SASL_HANDSHAKE = 18, 17
Make = Callable[[NodeConnections, int], RpcClient]


def connections(spec: ClusterSpec) -> NodeConnections:
    (broker,) = spec.brokers
    configs = {
        "listeners": f"PLAINTEXT://{HOST}:{broker.port},CONTROL://{HOST}:9",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROL:SASL_PLAINTEXT",
        "control.plane.listener.name": "CONTROL",
        "jbodlab.sasl.users": "broker:secret",
    }
    own = replace(broker, configs=configs)
    network = NetworkFaults("broker-1", chance=Random(0), nodes={})
    return NodeConnections(spec, own, network)


async def first_api(folder: Path, make: Make) -> int:
    """Return which API the first request of a connection is of."""
    seen: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.set_result(int.from_bytes((await reader.readexactly(6))[4:]))
        writer.close()

    async with asyncio.timeout(DEADLINE_S):
        server = await asyncio.start_server(take, HOST, 0)
        async with server:
            port: int = server.sockets[0].getsockname()[1]
            client = make(connections(cluster_spec(folder, port)), port)
            with pytest.raises(ConnectionError):
                await client.request(ApiVersionsRequest(), 3)
            client.close()
            return await seen


def to_controller(made: NodeConnections, _port: int) -> RpcClient:
    return made.to_controller()


def to_leader(made: NodeConnections, port: int) -> RpcClient:
    return made.to_leader(HOST, port)


def to_broker(made: NodeConnections, port: int) -> RpcClient:
    return made.to_broker(HOST, port)


@pytest.mark.parametrize(
    ("make", "api"),
    [(to_controller, SASL_HANDSHAKE), (to_leader, SASL_HANDSHAKE), (to_broker, API_VERSIONS)],
)
async def test_the_control_plane_has_a_key_of_its_own(tmp_path: Path, make: Make, api: int) -> None:
    assert await first_api(tmp_path, make) == api
