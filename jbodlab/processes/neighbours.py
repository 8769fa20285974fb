"""ZooKeeper and brokers of Apache Kafka beside those of jbodlab: their files and command lines.

It starts none of them; ``jbodlab.processes.cluster`` does.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.kafka_jars import ZOOKEEPER_VERSION
from protocol.cluster_file.spec import BesideSpec, BrokerSpec, ClusterSpec, ZookeeperSpec
from protocol.faults.model import CONTROLLER_NODE, broker_id_of, broker_node
from protocol.zookeeper import paths
from protocol.zookeeper.znodes import ClusterIdZnode, encode

ZOOKEEPER: Final = "zookeeper"
"""The name of its process."""
HEAPS: Final[Mapping[str, str]] = {ZOOKEEPER: "-Xmx128m", "broker": "-Xmx256m"}
_MAINS: Final[Mapping[str, str]] = {
    ZOOKEEPER: "org.apache.zookeeper.server.quorum.QuorumPeerMain",
    "broker": "kafka.Kafka",
}
_JVM: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""For a lab on a small machine: a quick start, little memory."""
_TICK_MS: Final = 500
_LOG4J: Final = """\
log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d %p %m (%c)%n
"""
_REPLICAS_MAX: Final = 3
_POLL_S: Final = 0.1


def node_names(spec: ClusterSpec) -> list[str]:
    """Return the names of all processes that are started for a cluster file, as they start."""
    own = [broker_node(each.id) for each in spec.brokers]
    if spec.zookeeper is None:
        return [CONTROLLER_NODE, *own]
    standing = [CONTROLLER_NODE] if spec.stands_for_election else []
    if spec.beside is None:
        return [*own, *standing]
    return [ZOOKEEPER, *neighbour_names(spec), *own, *standing]


def neighbour_names(spec: ClusterSpec) -> list[str]:
    """Return the names of the brokers that are Apache Kafka's."""
    return [] if spec.beside is None else [broker_node(each.id) for each in spec.beside.brokers]


def kind_of(spec: ClusterSpec, name: str) -> str:
    """Return whose process this is; empty for those of jbodlab."""
    if name == ZOOKEEPER:
        return f"Apache ZooKeeper {ZOOKEEPER_VERSION}"
    is_other = spec.beside is not None and name in neighbour_names(spec)
    return f"Apache Kafka {spec.beside.kafka}" if is_other and spec.beside else ""


def neighbour_command(spec: ClusterSpec, name: str, folder: Path, jars: Path) -> list[str]:
    """Return the command line of ZooKeeper or of a broker of Apache Kafka.

    Its configuration is written to ``folder``.
    """
    assert spec.beside is not None
    assert spec.zookeeper is not None
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "log4j.properties").write_text(_LOG4J)
    if name == ZOOKEEPER:
        kind, configs = ZOOKEEPER, _zookeeper_configs(spec, spec.beside, spec.zookeeper)
    else:
        broker = spec.broker(broker_id_of(name) or 0)
        kind, configs = "broker", kafka_configs(spec, broker)
    file = folder / f"{name}.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in configs.items()))
    class_path = f"{folder}{os.pathsep}{jars}/*"
    return ["java", HEAPS[kind], *_JVM, "-cp", class_path, _MAINS[kind], str(file)]


def kafka_configs(spec: ClusterSpec, broker: BrokerSpec) -> dict[str, str]:
    """Return the configurations of a broker of Apache Kafka: the cluster's, then its own."""
    assert spec.zookeeper is not None
    replicas = min(_REPLICAS_MAX, len(spec.all_brokers))
    rack = {} if broker.rack is None else {"broker.rack": broker.rack}
    of_all = {key: each for key, each in spec.configs.items() if not key.startswith("jbodlab.")}
    return {
        "offsets.topic.replication.factor": str(replicas),
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(min(2, replicas)),
        "num.replica.alter.log.dirs.threads": str(len(broker.log_dirs)),
        "controlled.shutdown.retry.backoff.ms": "500",
        "zookeeper.session.timeout.ms": str(spec.zookeeper.session_timeout_ms),
        **of_all,
        **rack,
        **broker.configs,
        "broker.id": str(broker.id),
        "listeners": f"PLAINTEXT://{broker.bind_host}:{broker.port}",
        "log.dirs": ",".join(each.path for each in broker.log_dirs),
        "zookeeper.connect": spec.zookeeper.connect,
    }


def prepare_zookeeper(spec: ClusterSpec, deadline_ms: int) -> None:
    """Wait until ZooKeeper serves, and name the cluster there if it has no name yet.

    The broker of Apache Kafka that came first would make one up.

    Raises:
        LabError: TIMED_OUT.
    """
    with _Client(spec, deadline_ms) as client:
        path = _below_chroot(spec, paths.CLUSTER_ID)
        if client.exists(path) is None:
            client.create(path, encode(ClusterIdZnode(id=spec.cluster_id)), makepath=True)


def await_missed(spec: ClusterSpec, name: str, deadline_ms: int) -> None:
    """Wait until ZooKeeper has missed a broker that was killed.

    A broker of Apache Kafka that finds its id taken ends.

    Raises:
        LabError: TIMED_OUT.
    """
    with _Client(spec, deadline_ms) as client:
        end = time.monotonic() + deadline_ms / 1000
        path = _below_chroot(spec, paths.broker_path(broker_id_of(name) or 0))
        while client.exists(path) is not None:
            if time.monotonic() > end:
                words = f"{name} is registered by a process that jbodlab did not start"
                raise LabError(ExitCode.TIMED_OUT, f"{words}: end that, or give another id")
            time.sleep(_POLL_S)


def _below_chroot(spec: ClusterSpec, path: str) -> str:
    assert spec.zookeeper is not None
    _, chroot = paths.split_connect(spec.zookeeper.connect)
    return f"{chroot}{path}"


class _Client:
    """A connection for the length of a block."""

    def __init__(self, spec: ClusterSpec, deadline_ms: int) -> None:
        # Only clusters beside Apache Kafka need it.
        from kazoo.client import (  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]
            KazooClient,
        )

        assert spec.zookeeper is not None
        self._connect = spec.zookeeper.connect
        self._deadline_ms = deadline_ms
        # What it logs of a ZooKeeper that is still starting is no news to anybody.
        quiet = logging.getLogger(f"{__name__}.kazoo")
        quiet.setLevel(logging.CRITICAL)
        hosts, _ = paths.split_connect(self._connect)
        self._client: Any = KazooClient(hosts, logger=quiet)

    # Any: kazoo has no types.
    def __enter__(self) -> Any:
        from kazoo.handlers.threading import (  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]
            KazooTimeoutError,
        )

        try:
            self._client.start(self._deadline_ms / 1000)
        except KazooTimeoutError as error:
            self._client.close()
            words = f"no ZooKeeper answers at {self._connect} after {self._deadline_ms} ms"
            raise LabError(ExitCode.TIMED_OUT, words) from error
        return self._client

    def __exit__(self, *_: object) -> None:
        self._client.stop()
        self._client.close()


def _zookeeper_configs(
    spec: ClusterSpec, beside: BesideSpec, zookeeper: ZookeeperSpec
) -> dict[str, str]:
    return {
        "dataDir": f"{spec.controller.data_dir}/{ZOOKEEPER}",
        "clientPort": str(beside.zookeeper_port),
        "clientPortAddress": "127.0.0.1",
        "admin.enableServer": "false",
        "tickTime": str(_TICK_MS),
        "maxSessionTimeout": str(max(20 * _TICK_MS, zookeeper.session_timeout_ms)),
    }
