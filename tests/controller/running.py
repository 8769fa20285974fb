"""Runs a controller in this process, with fake brokers over real sockets and a journal on disk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from random import Random

from controller.app import Controller
from controller.journal import Journal, JournalFile
from protocol.cluster_file.spec import ClusterSpec, parse_cluster_spec
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.topics import CreatableTopic, CreatableTopicResult, CreateTopicsRequest
from protocol.transport.rpc_client import RpcClient
from tests.controller.fake_broker import FakeBroker
from tests.deadlines import DEADLINE_S

CLUSTER = "app-under-test-cluster"


class FixedClock:
    """Always the same time of day."""

    def now_ms(self) -> int:
        return 1_700_000_000_000


def spec_in(
    folder: Path, *, cluster_id: str = CLUSTER, topics: str = "[]", session_ms: int = 60_000
) -> ClusterSpec:
    text = f"""
        cluster_id: {cluster_id}
        controller: {{ port: 9, heartbeat_interval_ms: 100, session_timeout_ms: {session_ms} }}
        brokers:
          - {{ id: 1, port: 10010, log_dirs: [{{ path: b1/d1 }}] }}
          - {{ id: 2, port: 20010, log_dirs: [{{ path: b2/d1 }}] }}
        topics: {topics}
    """
    return parse_cluster_spec(text, base_dir=folder, source="test")


def with_port(spec: ClusterSpec, port: int) -> ClusterSpec:
    return replace(spec, controller=replace(spec.controller, port=port))


@asynccontextmanager
async def running(
    spec: ClusterSpec,
    port: int = 0,
    *,
    compact_bytes_min: int = 1_000_000,
    file_class: type[JournalFile] = JournalFile,
    journal_class: type[Journal] = Journal,
) -> AsyncGenerator[tuple[Controller, int]]:
    """Give a controller that listens, and its port."""
    with ThreadPoolExecutor(max_workers=1) as executor:
        file = file_class(Path(spec.controller.data_dir))
        journal = journal_class(file, executor, compact_bytes_min=compact_bytes_min)
        controller = Controller(with_port(spec, port), journal, FixedClock(), Random(1))
        async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as group:
            task = group.create_task(controller.run())
            try:
                yield controller, await first(controller.listening, task)
            finally:
                controller.stop()


async def first(listening: asyncio.Future[int], task: asyncio.Task[None]) -> int:
    """Wait for the port, or for the end of a controller that never listens."""
    ended = asyncio.Event()
    task.add_done_callback(lambda _: ended.set())
    listening.add_done_callback(lambda _: ended.set())
    await ended.wait()
    if task.done():
        raise_from(task)
    return listening.result()


def raise_from(task: asyncio.Task[None]) -> None:
    error = task.exception()
    assert error is not None
    raise error


@asynccontextmanager
async def brokers(port: int, *broker_ids: int) -> AsyncGenerator[list[FakeBroker]]:
    started = [FakeBroker(broker_id, CLUSTER, port) for broker_id in broker_ids]
    for broker in started:
        await broker.start()
        await broker.register()
        assert not (await broker.beat()).is_fenced
    try:
        yield started
    finally:
        for broker in started:
            await broker.stop()


async def create(broker: FakeBroker, name: str, partitions: int) -> CreatableTopicResult:
    response = await broker.controller.request(
        CreateTopicsRequest(
            topics=[CreatableTopic(name=name, num_partitions=partitions, replication_factor=2)],
            timeout_ms=5000,
        ),
        7,
    )
    result: CreatableTopicResult = response.topics[0]
    return result


async def round_trips(port: int, count: int) -> None:
    """Ask what rests on no decision: what could be sent meanwhile has arrived then."""
    client = RpcClient(host="127.0.0.1", port=port, client_id="bystander")
    for _ in range(count):
        await client.request(ApiVersionsRequest(), 3)
    client.close()


async def run_once(spec: ClusterSpec) -> None:
    """Run a controller that is expected to end by itself; raise its first failure."""
    with ThreadPoolExecutor(max_workers=1) as executor:
        journal = Journal(JournalFile(Path(spec.controller.data_dir)), executor)
        controller = Controller(spec, journal, FixedClock(), Random(1))
        try:
            async with asyncio.timeout(DEADLINE_S):
                await controller.run()
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
