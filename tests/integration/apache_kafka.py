"""Apache Kafka 3.9.2 on log dirs that somebody else wrote: one broker and its ZooKeeper.

The topics are written into ZooKeeper before the broker starts, so that it finds its logs in place.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from benchmarks.peer.kafka import PeerMissingError, fetch
from jbodlab.asking.rpc import BlockingClient
from jbodlab.processes.free_ports import free_port
from protocol.ids import uuid_text
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.deadlines import DEADLINE_MS, DEADLINE_S
from tests.integration.labs import Lab

BUILD_DIR = Path(__file__).parents[2] / "build"
METADATA_VERSION = 12
_BROKER = """\
broker.id={broker_id}
listeners=PLAINTEXT://127.0.0.1:{port}
log.dirs={log_dirs}
zookeeper.connect=127.0.0.1:{zookeeper}
offsets.topic.replication.factor=1
"""
NO_AUTO_CREATION: Mapping[str, str] = {"auto.create.topics.enable": "false"}
_LOG4J = """\
log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{HH:mm:ss,SSS} %p %m%n
"""
_FAST_JVM = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


@dataclass(frozen=True, slots=True)
class KnownTopic:
    """A topic as ZooKeeper tells it."""

    name: str
    topic_id: bytes
    leader_epochs: Mapping[int, int]
    """By partition."""
    configs: Mapping[str, str] = field(default_factory=dict[str, str])


def known_topic(lab: Lab, name: str, configs: Mapping[str, str]) -> KnownTopic:
    """Return a topic with the leader epochs that the logs have."""
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=name)])
    (row,) = lab.ask(asked, METADATA_VERSION).topics
    epochs = {partition.partition_index: partition.leader_epoch for partition in row.partitions}
    return KnownTopic(name, bytes(row.topic_id), epochs, configs)


def jars() -> Path:
    """Return the folder of Kafka's jars; skip the test where they cannot be had."""
    try:
        return fetch(BUILD_DIR)
    except PeerMissingError as error:
        pytest.skip(str(error))


class ApacheKafka:
    """One broker that runs."""

    def __init__(self, port: int, process: subprocess.Popen[bytes], log: Path) -> None:
        self.port = port
        self.log = log
        self._process = process

    def stop(self) -> None:
        """Shut it down as an operator would."""
        self._process.terminate()
        assert self._process.wait(DEADLINE_S) in {0, 143}

    def until(self, condition: Callable[[], bool]) -> None:
        """Return when ``condition`` holds; fail when the broker ends, or has not come that far."""
        end = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < end, f"not so after {DEADLINE_S} s"
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(0.2)
            assert self._process.poll() is None, self.log.read_text()[-2000:]

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait(DEADLINE_S)


def run_tool(libs: Path, main: str, *arguments: str, cwd: Path, stdin: str = "") -> str:
    """Run one of Kafka's command line tools; return what it printed."""
    command = ["java", *_FAST_JVM, "-cp", f"{libs}/*", main, *arguments]
    done = subprocess.run(
        command,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        timeout=DEADLINE_S,
    )
    noise = ("log4j:", "WATCHER::", "WatchedEvent")
    lines = (done.stdout + done.stderr).splitlines()
    return "\n".join(line for line in lines if not line.startswith(noise))


@contextmanager
def apache_kafka(
    root: Path,
    *,
    broker_id: int,
    cluster_id: str,
    log_dirs: Sequence[str],
    topics: Sequence[KnownTopic],
    configs: Mapping[str, str] = NO_AUTO_CREATION,
    port: int | None = None,
) -> Generator[ApacheKafka]:
    """Run it for the length of a block; everything it writes beside its log dirs is in ``root``.

    ``configs`` are the broker's keys beside those that it needs to run; it listens at ``port``, or
    anywhere.
    """
    libs = jars()
    root.mkdir()
    (root / "log4j.properties").write_text(_LOG4J)
    zookeeper_port, port = free_port(), port or free_port()
    zookeeper = _spawn_zookeeper(libs, root, zookeeper_port)
    broker: subprocess.Popen[bytes] | None = None
    try:
        _wait_until_served(zookeeper_port, zookeeper, root / "zookeeper.log")
        commands = list(_znodes(cluster_id, broker_id, topics))
        options = ["-waitforconnection", "-timeout", str(DEADLINE_MS // 2)]
        options += ["-server", f"127.0.0.1:{zookeeper_port}"]
        main = "org.apache.zookeeper.ZooKeeperMain"
        told = run_tool(libs, main, *options, cwd=root, stdin="\n".join([*commands, "quit", ""]))
        said = (root / "zookeeper.log").read_text()
        assert told.count("Created") == len(commands), f"{told}\n{said[-2000:]}"
        config = root / "broker.properties"
        values = {"broker_id": broker_id, "port": port, "zookeeper": zookeeper_port}
        more = "".join(f"{key}={value}\n" for key, value in configs.items())
        config.write_text(_BROKER.format(log_dirs=",".join(log_dirs), **values) + more)
        broker = _spawn(libs, root, "kafka.Kafka", config, "broker")
        log = root / "broker.log"
        _wait_for(lambda: _are_led(port, topics), broker, log, "there are no leaders")
        yield ApacheKafka(port, broker, log)
    finally:
        for process in (broker, zookeeper):
            if process is not None:
                process.kill()
                process.wait(DEADLINE_S)


def _znodes(cluster_id: str, broker_id: int, topics: Sequence[KnownTopic]) -> Generator[str]:
    """Give the commands that tell ZooKeeper what a controller would have written."""
    for path in ("/cluster", "/brokers", "/brokers/topics", "/config", "/config/topics"):
        yield f"create {path} ''"
    yield _create("/cluster/id", {"version": "1", "id": cluster_id})
    for topic in topics:
        path = f"/brokers/topics/{topic.name}"
        assignment = {str(partition): [broker_id] for partition in topic.leader_epochs}
        yield _create(
            path,
            {
                "version": 3,
                "topic_id": uuid_text(topic.topic_id),
                "partitions": assignment,
                "adding_replicas": {},
                "removing_replicas": {},
            },
        )
        yield _create(f"/config/topics/{topic.name}", {"version": 1, "config": {**topic.configs}})
        yield f"create {path}/partitions ''"
        for partition, epoch in topic.leader_epochs.items():
            yield f"create {path}/partitions/{partition} ''"
            state = {"leader": broker_id, "leader_epoch": epoch, "isr": [broker_id]}
            yield _create(
                f"{path}/partitions/{partition}/state",
                {"controller_epoch": 1, "version": 1, **state},
            )


def _create(path: str, content: Mapping[str, object]) -> str:
    return f"create {path} '{json.dumps(content, separators=(',', ':'))}'"


def _spawn_zookeeper(libs: Path, root: Path, port: int) -> subprocess.Popen[bytes]:
    config = root / "zookeeper.properties"
    data = root / "zookeeper"
    config.write_text(f"dataDir={data}\nclientPort={port}\nadmin.enableServer=false\n")
    main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
    return _spawn(libs, root, main, config, "zookeeper")


def _wait_until_served(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until ZooKeeper has loaded its data.

    It listens before, and answers a session that is asked for then never: its client waits until
    the whole session is over.
    """
    _wait_for(lambda: b"Mode:" in _asked(port, b"srvr"), process, log, "ZooKeeper serves nobody")


def _asked(port: int, word: bytes) -> bytes:
    """Return what ZooKeeper answers to one of its four-letter words."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(word)
        return connection.makefile("rb").read()


def _spawn(libs: Path, root: Path, main: str, config: Path, name: str) -> subprocess.Popen[bytes]:
    classpath = f"{root}{os.pathsep}{libs}/*"
    command = ["java", *_FAST_JVM, "-cp", classpath, main, str(config)]
    with (root / f"{name}.log").open("wb") as out:
        return subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)


def _wait_for(
    condition: Callable[[], bool], process: subprocess.Popen[bytes], log: Path, otherwise: str
) -> None:
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()[-2000:]
        with suppress(OSError):
            if condition():
                return
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.1)
    raise AssertionError(f"{otherwise} after {DEADLINE_S} s: {log.read_text()[-2000:]}")


def _are_led(port: int, topics: Sequence[KnownTopic]) -> bool:
    client = BlockingClient("127.0.0.1", port, timeout_ms=5000)
    names = [MetadataRequestTopic(name=topic.name) for topic in topics]
    try:
        answer: MetadataResponse = client.request(
            MetadataRequest(topics=names, allow_auto_topic_creation=False), METADATA_VERSION
        )
    finally:
        client.close()
    found = {topic.name: topic.partitions for topic in answer.topics}
    return all(
        len(found[topic.name]) == len(topic.leader_epochs)
        and all(one.error_code == 0 and one.leader_id >= 0 for one in found[topic.name])
        for topic in topics
    )
