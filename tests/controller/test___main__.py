"""The controller as a process: what it survives and how it ends."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from controller.exit_codes import ExitCode
from jbodlab.processes.free_ports import free_port
from protocol.messages.configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.producer_ids import AllocateProducerIdsRequest
from protocol.messages.topics import CreatableTopic, CreateTopicsRequest
from tests.controller.fake_broker import FakeBroker
from tests.deadlines import DEADLINE_S

pytestmark = pytest.mark.integration

CLUSTER = "process-under-test"


def cluster_file(folder: Path, port: int) -> Path:
    # No broker is started: its ports need only differ from the controller's.
    broker_port, control_port = (20000, 21000) if port not in (20000, 21000) else (20002, 21002)
    file = folder / "cluster.yaml"
    file.write_text(
        f"""
cluster_id: {CLUSTER}
controller: {{ port: {port}, heartbeat_interval_ms: 500, session_timeout_ms: 30000 }}
brokers:
  - id: 1
    port: {broker_port}
    control_port: {control_port}
    log_dirs: [{{ path: data/b1/d1 }}]
"""
    )
    return file


async def start(file: Path) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "controller", "--config", str(file), stderr=PIPE
    )


async def end_of(file: Path) -> tuple[int, str]:
    """Run a controller that ends by itself; return its exit code and what it said."""
    process = await start(file)
    async with asyncio.timeout(DEADLINE_S):
        _, said = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode()


async def until_it_says(process: Process, words: str) -> None:
    assert process.stderr is not None
    async with asyncio.timeout(DEADLINE_S):
        while words not in (line := (await process.stderr.readline()).decode()):
            assert line, f"it ended without saying {words!r}"


@asynccontextmanager
async def running(file: Path) -> AsyncGenerator[Process]:
    process = await start(file)
    try:
        await until_it_says(process, "listening on")
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_it_stops_when_asked(tmp_path: Path) -> None:
    async with running(cluster_file(tmp_path, free_port())) as process:
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(DEADLINE_S):
            assert await process.wait() == ExitCode.CLEAN


async def test_a_killed_controller_forgets_nothing_that_it_answered(tmp_path: Path) -> None:
    port = free_port()
    file = cluster_file(tmp_path, port)
    async with running(file) as process:
        broker = FakeBroker(1, CLUSTER, port)
        await broker.start()
        await broker.register()
        await broker.beat()
        topics = [
            CreatableTopic(name=f"t{n}", num_partitions=5, replication_factor=1) for n in range(3)
        ]
        created = await broker.controller.request(CreateTopicsRequest(topics=topics), 7)
        ids = await broker.controller.request(
            AllocateProducerIdsRequest(broker_id=1, broker_epoch=broker.broker_epoch), 0
        )
        process.kill()
        await process.wait()

    async with running(file):
        epoch = broker.broker_epoch
        await broker.register()
        resources = [
            DescribeConfigsResource(resource_type=2, resource_name=topic.name)
            for topic in created.topics
        ]
        described = await broker.controller.request(DescribeConfigsRequest(resources=resources), 4)
        more_ids = await broker.controller.request(
            AllocateProducerIdsRequest(broker_id=1, broker_epoch=broker.broker_epoch), 0
        )
        await broker.stop()

    assert [topic.error_code for topic in created.topics] == [0, 0, 0]
    assert [result.error_code for result in described.results] == [0, 0, 0]
    assert broker.broker_epoch == epoch
    assert more_ids.producer_id_start == ids.producer_id_start + ids.producer_id_len


async def test_a_bad_cluster_file_is_explained(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text("cluster_id: x\nbrokers: 7\n")

    code, said = await end_of(file)

    assert code == ExitCode.BAD_CONFIG
    assert "brokers" in said
    assert "Traceback" not in said


async def test_a_port_in_use_is_explained(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        code, said = await end_of(cluster_file(tmp_path, port))

    assert code == ExitCode.PORT_IN_USE
    assert f"cannot listen on 127.0.0.1:{port}" in said
    assert "Traceback" not in said


async def test_a_data_dir_in_use_is_explained(tmp_path: Path) -> None:
    file = cluster_file(tmp_path, free_port())
    async with running(file):
        code, said = await end_of(file)

    assert code == ExitCode.DATA_DIR_IN_USE
    assert "belongs to a running controller" in said


async def test_a_damaged_journal_is_explained_with_its_line(tmp_path: Path) -> None:
    file = cluster_file(tmp_path, free_port())
    for _ in range(3):
        async with running(file) as process:
            process.send_signal(signal.SIGTERM)
            await process.wait()
    damage_first_line(tmp_path)

    code, said = await end_of(file)

    assert code == ExitCode.JOURNAL_CORRUPT
    assert "line 1" in said
    assert "Traceback" not in said


def damage_first_line(folder: Path) -> None:
    (journal,) = folder.rglob("journal.jsonl")
    content = journal.read_bytes()
    journal.write_bytes(content.replace(b"ControllerStarted", b"ControllerStopped", 1))


async def test_a_journal_that_cannot_be_written_is_explained(tmp_path: Path) -> None:
    file = cluster_file(tmp_path, free_port())
    (tmp_path / "data").write_text("no folder")

    code, said = await end_of(file)

    assert code == ExitCode.JOURNAL_FAILED
    assert "cannot be used" in said
