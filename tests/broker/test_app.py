"""A whole broker in this process: start, serve real clients, lose log dirs, stop."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.structs import TopicPartition

from broker.app import FAULTS_AT_THE_END, StartupError
from broker.control import FailRequest
from broker.exit_codes import ExitCode
from protocol.cluster_file.spec import FaultSpec, parse_cluster_spec
from protocol.errors import ErrorCode
from protocol.faults.model import DiskFault, DiskMode, NetworkFault, NetworkMode
from protocol.messages.lifecycle import (
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    ControlledShutdownRequest,
)
from protocol.messages.log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
    DescribeLogDirsRequest,
)
from protocol.metrics.rows import TABLE_VERSION
from protocol.transport.rpc_client import RpcClient
from tests.broker.fake_controller import FakeController
from tests.broker.one_broker import DEADLINE_S, cluster_spec, run_to_end, running


def produce(port: int, count: int) -> list[int]:
    """Write ``count`` records with an idempotent producer; return their offsets."""
    producer: Any = KafkaProducer(bootstrap_servers=[f"127.0.0.1:{port}"], acks="all")
    sent = [producer.send("orders", b"value %d" % n, partition=0) for n in range(count)]
    offsets = [one.get(timeout=DEADLINE_S).offset for one in sent]
    producer.close()
    return offsets


def consume(port: int, count: int) -> list[bytes]:
    """Read ``count`` records from the start."""
    consumer: Any = KafkaConsumer(
        bootstrap_servers=[f"127.0.0.1:{port}"],
        auto_offset_reset="earliest",
        consumer_timeout_ms=DEADLINE_S * 1000,
    )
    consumer.assign([TopicPartition("orders", 0)])
    values = [next(consumer).value for _ in range(count)]
    consumer.close()
    return values


def failing(log_dir: Path) -> FaultSpec:
    fault = DiskFault(mode=DiskMode.EIO, node="broker-1", log_dir=str(log_dir))
    return FaultSpec(at_ms=1, fault=fault)


async def test_records_of_a_kafka_client_survive_a_clean_restart(
    tmp_path: Path, controller: FakeController
):
    spec = cluster_spec(tmp_path, controller.port)
    async with running(spec) as run:
        await controller.until_heartbeats(1)
        response = await run.lead(0)
        assert [e.error_code for e in response.topics[0].partition_errors] == [0]
        assert await asyncio.to_thread(produce, run.port, 20) == list(range(20))
        assert await run.stop() is ExitCode.CLEAN
    markers = [(tmp_path / d / ".kafka_cleanshutdown").exists() for d in ("d1", "d2")]
    assert markers == [True, True]
    async with running(spec) as run:
        await controller.until(lambda: len(controller.of(BrokerRegistrationRequest)) == 2)
        await run.lead(0)
        values = await asyncio.to_thread(consume, run.port, 20)
        assert values == [b"value %d" % n for n in range(20)]


async def test_it_registers_with_its_real_port_and_its_online_log_dirs(
    tmp_path: Path, controller: FakeController
):
    async with running(cluster_spec(tmp_path, controller.port)) as run:
        await controller.until_heartbeats(1)
        (registration,) = controller.of(BrokerRegistrationRequest)
        assert registration.listeners[0].port == run.port
        assert len(registration.log_dirs) == 2


@pytest.mark.scenario(1)
async def test_a_log_dir_that_cannot_be_opened_at_the_start_is_merely_offline(
    tmp_path: Path, controller: FakeController
):
    (tmp_path / "d1").write_text("no directory")
    async with running(cluster_spec(tmp_path, controller.port)):
        await controller.until_heartbeats(1)
        (registration,) = controller.of(BrokerRegistrationRequest)
        assert len(registration.log_dirs) == 1


async def test_cordoned_log_dirs_are_in_every_heartbeat(tmp_path: Path, controller: FakeController):
    for configured, count in (("*", 2), (str(tmp_path / "d2"), 1)):
        controller.requests.clear()
        configs = {"cordoned.log.dirs": configured}
        async with running(cluster_spec(tmp_path, controller.port, configs=configs)):
            (beat, *_) = await controller.until_heartbeats(1)
        assert beat.cordoned_log_dirs is not None
        assert len(beat.cordoned_log_dirs) == count


@pytest.mark.scenario(13)
async def test_without_any_log_dir_it_ends_at_once(
    tmp_path: Path, controller: FakeController, caplog: pytest.LogCaptureFixture
):
    for name in ("d1", "d2"):
        (tmp_path / name).write_text("no directory")
    spec = cluster_spec(tmp_path, controller.port)
    assert await run_to_end(spec) is ExitCode.ALL_LOG_DIRS_FAILED
    assert "Shutdown broker because all log dirs in" in caplog.text
    assert controller.requests == []


async def test_a_log_dir_that_fails_while_running_is_in_the_next_heartbeat(
    tmp_path: Path, controller: FakeController
):
    fault = failing(tmp_path / "d2")
    spec = cluster_spec(tmp_path, controller.port, faults=(fault,))
    async with running(spec) as run:
        await controller.until(
            lambda: any(b.offline_log_dirs for b in controller.of(BrokerHeartbeatRequest))
        )
        assert await run.stop() is ExitCode.CLEAN
    assert (tmp_path / "d1" / ".kafka_cleanshutdown").exists()
    assert not (tmp_path / "d2" / ".kafka_cleanshutdown").exists()


async def test_what_faults_have_met_is_logged_last(
    tmp_path: Path, controller: FakeController, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO)
    never = FaultSpec(at_ms=0, fault=DiskFault(mode=DiskMode.EIO, node="broker-1", name="nothing"))
    async with running(cluster_spec(tmp_path, controller.port, faults=(never,))) as run:
        await run.stop()

    (line,) = [each for each in caplog.messages if each.startswith(FAULTS_AT_THE_END)]
    told = msgspec.json.decode(line.removeprefix(FAULTS_AT_THE_END))
    assert told["pid"] == os.getpid()
    assert [(each["id"], each["hits"]) for each in told["faults"]] == [("fault-1", 0)]


async def test_a_fault_at_0_ms_is_there_before_log_dirs_are_opened(
    tmp_path: Path, controller: FakeController
):
    broken = replace(failing(tmp_path / "d2"), at_ms=0)
    async with running(cluster_spec(tmp_path, controller.port, faults=(broken,))) as run:
        status = run.broker.broker_control.status()
    assert status["offline_log_dirs"] == [str(tmp_path / "d2")]
    assert not (tmp_path / "d2").exists()


async def test_a_fault_of_the_cluster_file_ends_at_its_time_and_a_network_is_cut_by_its_sender(
    tmp_path: Path, controller: FakeController
):
    """Heartbeats do not arrive while the way to the controller is cut."""
    cut = NetworkFault(mode=NetworkMode.CUT, source="broker-1", target="controller")
    foreign = NetworkFault(mode=NetworkMode.CUT, source="broker-2", target="broker-1")
    faults = (
        FaultSpec(at_ms=1, fault=cut, until_ms=50),
        FaultSpec(at_ms=1, fault=foreign, until_ms=None),
    )
    async with running(cluster_spec(tmp_path, controller.port, faults=faults)) as run:
        plane = run.broker.broker_control.faults
        await controller.until(lambda: any(not each["is_in_force"] for each in plane.describe()))
        (described,) = plane.describe()
        assert described["fault"] == {"mode": "cut", "from": "broker-1", "to": "controller"}
        assert described["hits"] >= 1
        await controller.until_heartbeats(len(controller.of(BrokerHeartbeatRequest)) + 2)


async def test_the_last_log_dirs_failure_ends_the_process_with_its_own_code(
    tmp_path: Path, controller: FakeController
):
    faults = (failing(tmp_path / "d1"), failing(tmp_path / "d2"))
    async with running(cluster_spec(tmp_path, controller.port, faults=faults)) as run:
        assert await run.end() is ExitCode.ALL_LOG_DIRS_FAILED
    assert controller.of(ControlledShutdownRequest) == []


@pytest.mark.scenario(52)
@pytest.mark.kafka_bug("KAFKA-15649")
async def test_a_broker_that_cannot_tell_of_a_failed_log_dir_ends_by_itself(
    tmp_path: Path, controller: FakeController
):
    spec = cluster_spec(tmp_path, controller.port, configs={"log.dir.failure.timeout.ms": "200"})
    async with running(spec) as run:
        await controller.until_heartbeats(1)
        await controller.stop()
        request = FailRequest(path=str(tmp_path / "d2"), mode="eio", delay_ms=None)
        run.broker.broker_control.fail_log_dir(request)
        assert await run.end() is ExitCode.FAILURE_NOT_REPORTED
    assert (tmp_path / "d1" / ".kafka_cleanshutdown").exists(), "it stopped as on request"


async def test_stopping_hands_over_and_says_goodbye(tmp_path: Path, controller: FakeController):
    async with running(cluster_spec(tmp_path, controller.port)) as run:
        await controller.until_heartbeats(1)
        assert await run.stop() is ExitCode.CLEAN
    assert len(controller.of(ControlledShutdownRequest)) == 1
    assert controller.of(BrokerHeartbeatRequest)[-1].want_fence


async def test_stopping_does_not_wait_for_a_controller_that_was_never_there(
    tmp_path: Path, controller: FakeController
):
    await controller.stop()
    async with running(cluster_spec(tmp_path, controller.port)) as run:
        assert await run.stop() is ExitCode.CLEAN


async def test_a_listeners_port_in_use_is_said_in_one_line(
    tmp_path: Path, controller: FakeController
):
    spec = cluster_spec(tmp_path, controller.port)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        own = replace(spec.brokers[0], port=port)
        with pytest.raises(StartupError, match=f"127.0.0.1:{port} is in use") as error:
            await run_to_end(replace(spec, brokers=(own,)))
        assert error.value.exit_code is ExitCode.PORT_IN_USE
        own = replace(spec.brokers[0], control_port=port)
        with pytest.raises(StartupError, match="is in use") as error:
            await run_to_end(replace(spec, brokers=(own,)))
        assert error.value.exit_code is ExitCode.PORT_IN_USE


async def test_log_dirs_of_another_broker_are_refused(tmp_path: Path, controller: FakeController):
    async with running(cluster_spec(tmp_path, controller.port)):
        pass
    with pytest.raises(StartupError, match="node id") as error:
        await run_to_end(cluster_spec(tmp_path, controller.port, broker_id=2))
    assert error.value.exit_code is ExitCode.BAD_LOG_DIRS


async def test_a_second_broker_on_the_same_log_dirs_is_refused(
    tmp_path: Path, controller: FakeController
):
    spec = cluster_spec(tmp_path, controller.port)
    async with running(spec):
        with pytest.raises(StartupError, match="in use") as error:
            await run_to_end(spec)
        assert error.value.exit_code is ExitCode.BAD_LOG_DIRS


async def test_a_controller_of_another_cluster_ends_it(
    tmp_path: Path, controller: FakeController, caplog: pytest.LogCaptureFixture
):
    controller.registration_codes = [ErrorCode.INCONSISTENT_CLUSTER_ID]
    async with running(cluster_spec(tmp_path, controller.port)) as run:
        assert await run.end() is ExitCode.REGISTRATION_REFUSED
    assert "refused this broker for good: INCONSISTENT_CLUSTER_ID" in caplog.text


async def test_metric_rows_of_every_table_in_use_are_dumped(
    tmp_path: Path, controller: FakeController
):
    async with running(cluster_spec(tmp_path, controller.port)) as run:
        await controller.until_heartbeats(1)
        await run.lead(0)
        await asyncio.to_thread(produce, run.port, 1)  # Else no log dir may have had any work.
        await run.stop()
    dump = tmp_path / "dump"
    assert {"log_dir", "replica", "request"} <= {folder.name for folder in dump.iterdir()}
    assert list((dump / "log_dir" / f"v{TABLE_VERSION}" / "broker=1").glob("*.jsonl"))
    assert list((dump / "latency").rglob("*.jsonl"))


@pytest.mark.kafka_bug("KAFKA-20441")
@pytest.mark.scenario(250)
async def test_a_dynamic_cordon_is_known_before_the_first_heartbeat(
    tmp_path: Path, controller: FakeController
):
    spec = cluster_spec(
        tmp_path, controller.port, configs={"cordoned.log.dirs": str(tmp_path / "d1")}
    )
    controller.broker_configs["1"] = {"cordoned.log.dirs": str(tmp_path / "d2")}
    async with running(spec):
        beats = await controller.until_heartbeats(2)
    (registration,) = controller.of(BrokerRegistrationRequest)
    _first, second = map(bytes, registration.log_dirs)
    assert all(list(map(bytes, beat.cordoned_log_dirs or ())) == [second] for beat in beats)


@pytest.mark.scenario(47)
async def test_relative_log_dirs_are_named_by_their_absolute_form(
    tmp_path: Path, controller: FakeController
):
    spec = cluster_spec(tmp_path, controller.port)
    text = """
cluster_id: cluster
controller: { port: 9090 }
brokers: [{ id: 1, port: 9092, log_dirs: [{ path: d1 }, { path: ./d2 }] }]
"""
    read = parse_cluster_spec(text, base_dir=tmp_path, source="cluster.yaml")
    own = replace(spec.brokers[0], log_dirs=read.brokers[0].log_dirs)
    async with running(replace(spec, brokers=(own,))) as run:
        await run.lead()
        client = RpcClient(host="127.0.0.1", port=run.port, client_id="test")
        described = await client.request(DescribeLogDirsRequest(topics=None), 4)
        paths = [result.log_dir for result in described.results]
        wishes = [("d1", 57), ("d1/", 57), (paths[0], 3), (f"{paths[0]}/", 57)]
        for path, expected in wishes:
            answer = await client.request(wish(path), 2)
            assert answer.results[0].partitions[0].error_code == expected, path
        client.close()
    assert paths == [str(tmp_path / "d1"), str(tmp_path / "d2")]


def wish(path: str) -> AlterReplicaLogDirsRequest:
    topic = AlterReplicaLogDirTopic(name="orders", partitions=[0])
    return AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=path, topics=[topic])])
