"""Apache Kafka as a peer: ZooKeeper and three 3.9.2 brokers from Maven Central.

It measures nothing; ``benchmarks.targets`` drives it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import psutil

from jbodlab.errors import LabError
from jbodlab.processes.free_ports import free_port
from jbodlab.processes.kafka_jars import VERSION, kafka_jars

HEAP = "-Xmx512m"
BROKER_IDS = (1, 2, 3)
BUILD_DIR = Path(__file__).resolve().parent.parent.parent / "build"
"""Where the jars are kept between runs."""
_BROKER = """\
broker.id={id}
listeners=PLAINTEXT://127.0.0.1:{port}
log.dirs={dirs}
zookeeper.connect=127.0.0.1:{zookeeper}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
num.replica.alter.log.dirs.threads=3
unclean.leader.election.enable=false
auto.create.topics.enable=false
broker.rack={rack}
"""
_LOG4J = """\
log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{yyyy-MM-dd'T'HH:mm:ss.SSSZ} %p %m%n
"""


class PeerMissingError(RuntimeError):
    """The peer cannot be had on this machine; the message says what is missing."""


def fetch(build_dir: Path, version: str = VERSION) -> Path:
    """Return the folder with Kafka's jars, fetched once by Maven.

    Raises:
        PeerMissingError: Maven or Java is not installed, or the download failed.
    """
    try:
        return kafka_jars(build_dir / f"kafka-{version}" / "libs", version)
    except LabError as error:
        raise PeerMissingError(str(error)) from error


class KafkaPeer:
    """Three brokers in ZooKeeper mode under ``root``: ``launch`` first, ``stop`` at the end."""

    name = f"kafka-{VERSION}"

    def __init__(
        self,
        root: Path,
        build_dir: Path,
        configs: Mapping[str, str] | None = None,
        jvm_flags: Sequence[str] = (),
    ) -> None:
        """Fetch what is missing; start nothing.

        Args:
            root: empty or not there yet.
            build_dir: where the jars are kept between runs.
            configs: broker keys beside those that every peer has.
            jvm_flags: for ZooKeeper and brokers, beside the size of their heaps.

        Raises:
            PeerMissingError: there is no Java, no Maven, or no download.
        """
        self._root = root
        self._configs = configs or {}
        self._jvm_flags = jvm_flags
        self._libs = fetch(build_dir)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._ports = {broker_id: free_port() for broker_id in BROKER_IDS}

    @property
    def bootstrap(self) -> str:
        """All brokers, as clients take them."""
        return ",".join(f"127.0.0.1:{port}" for port in self._ports.values())

    def configs_of(self, broker_id: int) -> Mapping[str, str]:
        """Return a broker's keys beside those that every peer has."""
        return self._configs

    def log_dirs(self, broker_id: int) -> list[Path]:
        """Return the broker's log dirs in the order of its config."""
        return [self._root / f"b{broker_id}" / f"d{n}" for n in (1, 2, 3)]

    def launch(self) -> None:
        """Start ZooKeeper, then, once it listens, the brokers. Does not wait for the brokers."""
        conf = self._root / "conf"
        conf.mkdir(parents=True)
        (conf / "log4j.properties").write_text(_LOG4J)
        zookeeper = free_port()
        self._start_zookeeper(conf, zookeeper)
        for broker_id, port in self._ports.items():
            dirs = self.log_dirs(broker_id)
            for path in dirs:
                path.mkdir(parents=True)
            config = conf / f"broker-{broker_id}.properties"
            values = {"id": broker_id, "port": port, "zookeeper": zookeeper}
            text = _BROKER.format(
                dirs=",".join(map(str, dirs)), rack="abc"[broker_id - 1], **values
            )
            configs = self.configs_of(broker_id)
            more = "".join(f"{key}={value}\n" for key, value in configs.items())
            config.write_text(text + more)
            self._spawn(conf, HEAP, "kafka.Kafka", config, f"broker-{broker_id}")

    def wait_until_up(self, *, deadline_s: float = 300) -> None:
        """Wait until every broker says that it has started.

        Raises:
            PeerMissingError: one does not, before the deadline.
        """
        end = time.monotonic() + deadline_s
        for broker_id in BROKER_IDS:
            log = self._root / f"broker-{broker_id}.log"
            while f"[KafkaServer id={broker_id}] started" not in log.read_text():
                if time.monotonic() > end:
                    raise PeerMissingError(f"broker {broker_id} has not started; see {log}")
                time.sleep(0.1)

    def stop(self) -> None:
        """End every process and wait for it."""
        for process in reversed(self._processes):
            process.kill()
        for process in self._processes:
            process.wait(timeout=30)

    def resident_bytes(self) -> dict[str, int]:
        """Return the resident set of each process, by role."""
        roles = ["zookeeper", *(f"broker-{broker_id}" for broker_id in BROKER_IDS)]
        sizes = [int(psutil.Process(process.pid).memory_info().rss) for process in self._processes]
        return dict(zip(roles, sizes, strict=True))

    def processor_s(self) -> float:
        """Return the processor time of all processes since they began."""
        times = [psutil.Process(process.pid).cpu_times() for process in self._processes]
        return sum(each.user + each.system for each in times)

    def failure_noticed_ms(self, broker_id: int, log_dir: Path) -> int | None:
        """Return when (ms since the epoch) the broker's log first tells that it is broken."""
        for line in (self._root / f"broker-{broker_id}.log").read_text().splitlines():
            if " ERROR " in line and str(log_dir) in line:
                stamp = datetime.strptime(line.split(" ", 1)[0], "%Y-%m-%dT%H:%M:%S.%f%z")
                return int(stamp.astimezone(UTC).timestamp() * 1000)
        return None

    def _start_zookeeper(self, conf: Path, port: int) -> None:
        config = conf / "zookeeper.properties"
        config.write_text(
            f"dataDir={self._root / 'zookeeper'}\nclientPort={port}\nadmin.enableServer=false\n"
        )
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        self._spawn(conf, "-Xmx256m", main, config, "zookeeper")
        _wait_for_port(port, deadline_s=300)

    def _spawn(self, conf: Path, heap: str, main: str, config: Path, name: str) -> None:
        class_path = f"{conf}{os.pathsep}{self._libs}/*"
        command = ["java", heap, *self._jvm_flags, "-cp", class_path, main, str(config)]
        with (self._root / f"{name}.log").open("wb") as out:
            self._processes.append(subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT))


def _wait_for_port(port: int, *, deadline_s: float) -> None:
    end = time.monotonic() + deadline_s
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
            return
        time.sleep(0.05)
    raise PeerMissingError(f"nothing listens on port {port} after {deadline_s} s")
