"""One real broker in this process: real files, real sockets, a fake controller."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from broker.app import Broker
from broker.exit_codes import ExitCode
from broker.world import real_world
from protocol.cluster_file.spec import (
    BrokerSpec,
    ClusterSpec,
    ControllerSpec,
    FaultSpec,
    LogDirSpec,
    MetricsSpec,
)
from protocol.messages.control import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicState,
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from protocol.transport.rpc_client import RpcClient
from tests.deadlines import DEADLINE_S

TOPIC_ID = bytes(range(16))


def cluster_spec(
    folder: Path,
    controller_port: int,
    *,
    log_dirs: int = 2,
    configs: Mapping[str, str] | None = None,
    faults: tuple[FaultSpec, ...] = (),
    broker_id: int = 1,
) -> ClusterSpec:
    """Return a cluster of one broker; every port but the controller's is chosen by the system."""
    own = BrokerSpec(
        id=broker_id,
        bind_host="127.0.0.1",
        port=0,
        advertised_host="127.0.0.1",
        advertised_port=0,
        control_port=0,
        rack=None,
        log_dirs=tuple(
            LogDirSpec(path=str(folder / f"d{n}"), capacity_bytes=None)
            for n in range(1, log_dirs + 1)
        ),
        configs=dict(configs or {}),
    )
    return ClusterSpec(
        cluster_id="cluster",
        controller=ControllerSpec(
            id=100,
            bind_host="127.0.0.1",
            port=controller_port,
            advertised_host="127.0.0.1",
            data_dir=str(folder / "controller"),
            heartbeat_interval_ms=20,
            session_timeout_ms=1_000,
        ),
        brokers=(own,),
        topics=(),
        faults=faults,
        configs={},
        metrics=MetricsSpec(dump_dir=str(folder / "dump"), interval_ms=50),
    )


class RunningBroker:
    """A broker under test and the way to its end."""

    def __init__(self, broker: Broker, task: asyncio.Task[ExitCode]) -> None:
        self.broker = broker
        self._task = task
        self.port = 0

    async def end(self) -> ExitCode:
        """Wait until the broker ended by itself."""
        async with asyncio.timeout(DEADLINE_S):
            return await asyncio.shield(self._task)

    async def stop(self) -> ExitCode:
        """Stop it cleanly."""
        self.broker.stop()
        return await self.end()

    async def lead(self, *partitions: int, topic: str = "orders") -> LeaderAndIsrResponse:
        """Make it the leader of new partitions and tell it so in its metadata."""
        client = RpcClient(host="127.0.0.1", port=self.port, client_id="100")
        response: LeaderAndIsrResponse = await client.request(
            leader_and_isr(topic, partitions, self.port), 7
        )
        await client.request(update_metadata(topic, partitions, self.port), 8)
        client.close()
        return response


@asynccontextmanager
async def running(spec: ClusterSpec) -> AsyncGenerator[RunningBroker]:
    """Start a broker and wait until it serves; stop it at the end if it still runs."""
    broker = Broker(spec, spec.brokers[0].id, real_world(Random(1)))
    async with asyncio.TaskGroup() as tasks:
        run = RunningBroker(broker, tasks.create_task(broker.run()))
        async with asyncio.timeout(DEADLINE_S):
            run.port = await broker.serving
        yield run
        broker.stop()


async def run_to_end(spec: ClusterSpec) -> ExitCode:
    """Run a broker that is expected not to come up."""
    async with asyncio.timeout(DEADLINE_S):
        return await Broker(spec, spec.brokers[0].id, real_world(Random(1))).run()


def leader_and_isr(topic: str, partitions: tuple[int, ...], port: int) -> LeaderAndIsrRequest:
    return LeaderAndIsrRequest(
        controller_id=100,
        controller_epoch=1,
        broker_epoch=7,
        topic_states=[
            LeaderAndIsrTopicState(
                topic_name=topic,
                topic_id=TOPIC_ID,
                partition_states=[
                    LeaderAndIsrPartitionState(
                        partition_index=index,
                        controller_epoch=1,
                        leader=1,
                        leader_epoch=0,
                        isr=[1],
                        partition_epoch=0,
                        replicas=[1],
                        is_new=True,
                    )
                    for index in partitions
                ],
            )
        ],
        live_leaders=[LeaderAndIsrLiveLeader(broker_id=1, host_name="127.0.0.1", port=port)],
    )


def update_metadata(topic: str, partitions: tuple[int, ...], port: int) -> UpdateMetadataRequest:
    return UpdateMetadataRequest(
        controller_id=100,
        controller_epoch=1,
        broker_epoch=7,
        topic_states=[
            UpdateMetadataTopicState(
                topic_name=topic,
                topic_id=TOPIC_ID,
                partition_states=[
                    UpdateMetadataPartitionState(
                        partition_index=index,
                        controller_epoch=1,
                        leader=1,
                        leader_epoch=0,
                        isr=[1],
                        zk_version=0,
                        replicas=[1],
                    )
                    for index in partitions
                ],
            )
        ],
        live_brokers=[
            UpdateMetadataBroker(
                id=1,
                endpoints=[
                    UpdateMetadataEndpoint(port=port, host="127.0.0.1", listener="PLAINTEXT")
                ],
                rack=None,
            )
        ],
    )


async def http(port: int, method: str, path: str, body: object = None) -> tuple[int, Any]:
    """Ask a control endpoint; return the status and the JSON."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    data = b"" if body is None else msgspec.json.encode(body)
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    writer.write(head.encode() + data)
    async with asyncio.timeout(DEADLINE_S):
        reply = await reader.read()
    writer.close()
    status_line, _, rest = reply.partition(b"\r\n")
    return int(status_line.split()[1]), msgspec.json.decode(rest.partition(b"\r\n\r\n")[2])
