"""ZooKeeper and brokers of Apache Kafka 3.9.2 in ZooKeeper mode, as processes of one folder.

It starts, ends, pauses and waits; what is done with the cluster is for others to say. Use it as a
context manager: nothing of it outlives the block.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from benchmarks.peer.kafka import BUILD_DIR, fetch
from jbodlab.processes.free_ports import free_ports
from tests.deadlines import DEADLINE_S

LOG_DIRS: Final = ("d1", "d2")
HOST: Final = "127.0.0.1"
_ZOOKEEPER: Final = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
COORDINATORS: Final[Mapping[str, str]] = {
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
}
"""Of all brokers of a cluster: they find a coordinator by these numbers."""
_CONFIGS: Final[Mapping[str, str]] = {
    **COORDINATORS,
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "num.replica.alter.log.dirs.threads": str(len(LOG_DIRS)),
}
_LOG4J: Final = """\
log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{HH:mm:ss,SSS} %p %m (%c)%n
"""
_JVM: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_SASL: Final = ("authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider",)
_NETTY: Final = ("serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",)
_HEAPS: Final = {_ZOOKEEPER: "-Xmx192m", "kafka.Kafka": "-Xmx256m"}
_STARTED: Final = "] started (kafka.server.KafkaServer)"
_CLEAN_EXITS: Final = {0, 143}
_LOOK_S: Final = 0.2


class ApacheNodes:
    """Starts nothing by itself: first ``start_zookeeper``, then brokers."""

    def __init__(
        self, folder: Path, broker_ids: Iterable[int], zookeeper_connect: str | None = None
    ) -> None:
        """Fetch the jars if they are not there yet; know the ports.

        With ``zookeeper_connect`` somebody else's ZooKeeper is used, and none started here.

        Raises:
            PeerMissingError: there is no Java, no Maven, or no download.
        """
        self.folder = folder
        self.libs = fetch(BUILD_DIR)
        ids = list(broker_ids)
        self.zookeeper_port, *ports = free_ports(1 + len(ids))
        self.zookeeper_connect: Final = zookeeper_connect or f"{HOST}:{self.zookeeper_port}"
        """Where ZooKeeper listens, as brokers are told."""
        self.ports: Final = dict(zip(ids, ports, strict=True))
        self.kazoo: Callable[[], dict[str, Any]] = dict
        """Gives what a client of kazoo is made with besides, for ZooKeeper to let it in."""
        self._jvm: tuple[str, ...] = _JVM
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> ApacheNodes:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "log4j.properties").write_text(_LOG4J)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.wait(DEADLINE_S)

    @property
    def bootstrap(self) -> str:
        """All brokers, as clients take them."""
        return ",".join(f"{HOST}:{port}" for port in self.ports.values())

    @property
    def zookeeper_data(self) -> Path:
        """The folder of ZooKeeper's transaction logs."""
        return self.folder / "zookeeper" / "version-2"

    def start_zookeeper(self, jaas: str = "", tls: Mapping[str, str] | None = None) -> None:
        """Start it.

        Args:
            jaas: of server and clients, by which it and brokers know each other.
            tls: the server's ``ssl.*`` configs; with them it speaks nothing but TLS.
        """
        config = self.folder / "zookeeper.properties"
        lines = (
            f"dataDir={self.folder / 'zookeeper'}",
            f"{'clientPort' if tls is None else 'secureClientPort'}={self.zookeeper_port}",
            "admin.enableServer=false",
            "tickTime=500",
            *(_SASL if jaas else ()),
            *(_NETTY if tls is not None else ()),
            *(f"{key}={value}" for key, value in (tls or {}).items()),
        )
        if jaas:
            file = self.folder / "jaas.conf"
            file.write_text(jaas)
            self._jvm = (*_JVM, f"-Djava.security.auth.login.config={file}")
        config.write_text("\n".join(lines) + "\n")
        self._spawn(_ZOOKEEPER, config, "zookeeper")

    def stop_zookeeper(self) -> None:
        """End it; what it has is there when it starts again."""
        process = self._processes.pop("zookeeper")
        process.terminate()
        process.wait(DEADLINE_S)

    def start_brokers(self, configs: Mapping[int, Mapping[str, str]]) -> None:
        """Start these brokers beside each other with their own configs; wait for all of them."""
        before = {broker_id: self._starts(broker_id) for broker_id in configs}
        for broker_id, own in configs.items():
            config = self._configure(broker_id, own)
            self._spawn("kafka.Kafka", config, _name(broker_id))
        self.wait_until(
            lambda: all(self._starts(broker_id) > count for broker_id, count in before.items()),
            f"brokers {', '.join(map(str, configs))} have started",
        )

    def stop_broker(self, broker_id: int) -> None:
        """Shut it down as an operator would."""
        process = self._processes.pop(_name(broker_id))
        process.terminate()
        assert process.wait(DEADLINE_S) in _CLEAN_EXITS

    def kill_broker(self, broker_id: int) -> None:
        """End it at once; ZooKeeper misses it when its session is over."""
        process = self._processes.pop(_name(broker_id))
        process.kill()
        process.wait(DEADLINE_S)

    def exit_code(self, broker_id: int) -> int:
        """Wait for a broker that ends by itself."""
        return self._processes.pop(_name(broker_id)).wait(DEADLINE_S)

    def pause_broker(self, broker_id: int) -> None:
        """Have it stand still."""
        self._processes[_name(broker_id)].send_signal(signal.SIGSTOP)

    def resume_broker(self, broker_id: int) -> None:
        self._processes[_name(broker_id)].send_signal(signal.SIGCONT)

    def log_dir(self, broker_id: int, name: str) -> Path:
        return self.folder / "data" / f"b{broker_id}" / name

    def break_log_dir(self, broker_id: int, name: str) -> None:
        """Put a plain file in its place: the broker notices when it opens something there."""
        path = self.log_dir(broker_id, name)
        path.rename(path.with_name(f"{name}.aside"))
        path.write_text("")

    def repair_log_dir(self, broker_id: int, name: str) -> None:
        """Put the log dir back; a broker takes it when it starts again."""
        path = self.log_dir(broker_id, name)
        path.unlink()
        path.with_name(f"{name}.aside").rename(path)

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        """Ask until ``condition`` holds; who does not answer is asked again.

        Raises:
            AssertionError: it does not hold in time, or a node has ended by itself.
        """
        end = time.monotonic() + DEADLINE_S
        while not self._holds(condition):
            assert time.monotonic() < end, f"not so after {DEADLINE_S} s: {what}"
            self._rest()

    def log(self, broker_id: int) -> str:
        """Return what a broker has logged so far."""
        path = self.folder / f"{_name(broker_id)}.log"
        return path.read_text() if path.exists() else ""

    def _holds(self, condition: Callable[[], bool]) -> bool:
        with suppress(OSError):
            return condition()
        return False

    def _rest(self) -> None:
        """Wait a moment; a node that ends meanwhile fails the test."""
        for process in islice(self._processes.values(), 1):
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_S)
        for name, process in self._processes.items():
            tail = self.folder / f"{name}.log"
            assert process.poll() is None, f"{name} ended: {tail.read_text()[-2000:]}"

    def _starts(self, broker_id: int) -> int:
        return self.log(broker_id).count(_STARTED)

    def _configure(self, broker_id: int, own: Mapping[str, str]) -> Path:
        paths = [self.log_dir(broker_id, name) for name in LOG_DIRS]
        if not paths[0].parent.exists():
            for path in paths:
                path.mkdir(parents=True)
        configs = {
            **_CONFIGS,
            "broker.id": str(broker_id),
            "listeners": f"PLAINTEXT://{HOST}:{self.ports[broker_id]}",
            "log.dirs": ",".join(map(str, paths)),
            "zookeeper.connect": self.zookeeper_connect,
            **own,
        }
        file = self.folder / f"{_name(broker_id)}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in configs.items()))
        return file

    def _spawn(self, main: str, config: Path, name: str) -> None:
        class_path = f"{self.folder}{os.pathsep}{self.libs}/*"
        command = ["java", _HEAPS[main], *self._jvm, "-cp", class_path, main, str(config)]
        with (self.folder / f"{name}.log").open("ab") as out:
            self._processes[name] = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)


def _name(broker_id: int) -> str:
    return f"broker-{broker_id}"
