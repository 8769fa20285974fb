"""The cluster of the transcripts as it was recorded: Apache Kafka 3.9.2, three brokers, ZooKeeper.

What brokers are told is read from their own request logs. One broker leads the cluster. It knows no
story.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from benchmarks.peer.kafka import BUILD_DIR, fetch
from jbodlab.asking.admin import ClusterAdmin
from jbodlab.processes.free_ports import free_port
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.cluster_file.spec import ClusterSpec, load_cluster_spec
from tests.deadlines import DEADLINE_S
from tests.differential.story_lab import BROKER_IDS, StoryLab
from tests.differential.tap import Told

_APIS: Final = {
    "LEADER_AND_ISR": "LeaderAndIsr",
    "UPDATE_METADATA": "UpdateMetadata",
    "STOP_REPLICA": "StopReplica",
}
_MARK: Final = "Completed request:"
_BROKER: Final = """\
broker.id={id}
listeners=PLAINTEXT://127.0.0.1:{port}
log.dirs={dirs}
zookeeper.connect={zookeeper}
offsets.topic.replication.factor=1
num.replica.alter.log.dirs.threads=2
min.insync.replicas=1
auto.leader.rebalance.enable=false
auto.create.topics.enable=false
"""
_LOG4J: Final = """\
log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.FileAppender
log4j.appender.out.File={log}
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d %p %m (%c)%n
log4j.logger.kafka.request.logger=TRACE, requests
log4j.additivity.kafka.request.logger=false
log4j.appender.requests=org.apache.log4j.FileAppender
log4j.appender.requests.File={requests}
log4j.appender.requests.layout=org.apache.log4j.PatternLayout
log4j.appender.requests.layout.ConversionPattern=%m%n
"""
_JVM: Final = ("-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_LOOK_S: Final = 0.2
_ZOOKEEPER: Final = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_CLEAN_EXITS: Final = {0, 143}


class RequestLog:
    """The request log of one broker: read on from where it was read to, over restarts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._position = 0
        self._told: list[Told] = []

    def told(self) -> list[Told]:
        """Return what the controller told the broker and it has answered."""
        if self.path.exists():
            with self.path.open("rb") as file:
                file.seek(self._position)
                lines = file.read().rpartition(b"\n")[0]
            self._position += len(lines) and len(lines) + 1
            self._told.extend(_told(lines.decode().splitlines()))
        return list(self._told)


def _told(lines: list[str]) -> Iterator[Told]:
    for line in lines:
        head, _, text = line.partition(_MARK)
        if head or not any(name in text for name in _APIS):
            continue
        written = json.loads(text)
        api = _APIS.get(written["requestHeader"]["requestApiKeyName"])
        if api is not None:
            yield Told(api, written["request"], written["response"])


class KafkaLab(StoryLab):
    """The cluster. ``close`` ends its processes."""

    quiet_s = 30  # ZooKeeper misses a broker that was killed after 18 s.
    tells_as_recorded = True
    misses_at_once = False
    told_before_return = 9

    def __init__(self, folder: Path, spec: ClusterSpec, admin: ClusterAdmin) -> None:
        """Fetch what is missing; start nothing.

        Raises:
            PeerMissingError: there is no Java, no Maven, or no download.
        """
        super().__init__(folder, spec, admin)
        self._libs = fetch(BUILD_DIR)
        self._conf = folder / "conf"
        self.zookeeper_connect: Final = f"127.0.0.1:{free_port()}"
        self._requests = {b: RequestLog(folder / f"broker-{b}.requests.log") for b in BROKER_IDS}
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._zookeeper: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        """Kill every process and wait for it."""
        running = [*self._processes.values(), *([self._zookeeper] if self._zookeeper else [])]
        for process in running:
            process.kill()
            process.wait(DEADLINE_S)

    def start_one_by_one(self) -> None:
        self._start_zookeeper()
        for broker_id in BROKER_IDS:
            self._configure(broker_id)
            self.start_broker(broker_id)

    def _start_zookeeper(self) -> None:
        self._conf.mkdir()
        config = self._conf / "zookeeper.properties"
        data = self.folder / "zookeeper"
        port = self.zookeeper_connect.rpartition(":")[2]
        config.write_text(f"dataDir={data}\nclientPort={port}\nadmin.enableServer=false\n")
        self._zookeeper = self._spawn(_ZOOKEEPER, config, "zookeeper")

    def start_broker(self, broker_id: int) -> None:
        log = self._log(broker_id)
        before = _starts(log)
        config = self._conf / f"broker-{broker_id}.properties"
        self._processes[broker_id] = self._spawn("kafka.Kafka", config, f"broker-{broker_id}")
        self._look_until(lambda: _starts(log) > before, f"broker {broker_id} has started")

    def stop_broker(self, broker_id: int) -> None:
        process = self._processes.pop(broker_id)
        process.terminate()
        assert process.wait(DEADLINE_S) in _CLEAN_EXITS

    def kill_controller_and_broker(self, broker_id: int) -> None:
        assert self._controller() == broker_id
        process = self._processes.pop(broker_id)
        process.kill()
        process.wait(DEADLINE_S)

    def exit_code(self, broker_id: int) -> int | None:
        return self._processes.pop(broker_id).wait(DEADLINE_S)

    def replace_controller(self) -> None:
        """Nothing: it was broker 1."""

    def give_control_to_broker_1(self) -> None:
        while (controller := self._controller()) != 1:
            self.restart_broker(controller)
            self._look_until(lambda: self._controller() > 0, "there is a controller")

    def told(self) -> dict[int, list[Told]]:
        return {broker_id: log.told() for broker_id, log in self._requests.items()}

    def wait_for(self, condition: Callable[[], bool], deadline_s: float) -> bool:
        end = time.monotonic() + deadline_s
        while not condition():
            if time.monotonic() > end:
                return False
            self._rest()
        return True

    def wait_until(self, condition: Callable[[ClusterAdmin], bool], what: str) -> None:
        self._look_until(lambda: condition(self.admin), what)

    def _look_until(self, condition: Callable[[], bool], what: str) -> None:
        def holds() -> bool:
            with suppress(OSError):
                return condition()
            return False

        assert self.wait_for(holds, DEADLINE_S), f"not so after {DEADLINE_S} s: {what}"

    def _rest(self) -> None:
        assert self._zookeeper is not None
        with suppress(subprocess.TimeoutExpired):
            self._zookeeper.wait(_LOOK_S)
        assert self._zookeeper.poll() is None, f"ZooKeeper ended; logs are in {self.folder}"

    def _controller(self) -> int:
        """Return which broker leads the cluster; -1: nobody knows."""
        for broker_id in self._processes:
            with suppress(OSError):
                return self.admin.view(broker_id, []).controller_id
        return -1

    def _log(self, broker_id: int) -> Path:
        return self.folder / f"broker-{broker_id}.log"

    def _configure(self, broker_id: int) -> None:
        dirs = [self.log_dir(f"b{broker_id}/d{number}") for number in (1, 2)]
        for path in dirs:
            path.mkdir(parents=True)
        values = {
            "id": broker_id,
            "port": self.spec.broker(broker_id).port,
            "zookeeper": self.zookeeper_connect,
        }
        text = _BROKER.format(dirs=",".join(map(str, dirs)), **values)
        (self._conf / f"broker-{broker_id}.properties").write_text(text)

    def _spawn(self, main: str, config: Path, name: str) -> subprocess.Popen[bytes]:
        conf = self.folder / f"conf-{name}"
        conf.mkdir(exist_ok=True)
        log, requests = self.folder / f"{name}.log", self.folder / f"{name}.requests.log"
        (conf / "log4j.properties").write_text(_LOG4J.format(log=log, requests=requests))
        class_path = f"{conf}{os.pathsep}{self._libs}/*"
        with (self.folder / f"{name}.out").open("ab") as out:
            command = ["java", *_JVM, "-cp", class_path, main, str(config)]
            return subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)


def _starts(log: Path) -> int:
    """Return how often a broker says that it has started."""
    return log.read_text().count("] started (kafka.server.KafkaServer)") if log.exists() else 0


@contextmanager
def kafka_lab(folder: Path) -> Generator[KafkaLab]:
    """Give a cluster of which nothing runs yet; ``folder`` keeps all that it wrote."""
    spec = load_cluster_spec(write_lab_spec(folder, LabShape(log_dirs=2)))
    with ClusterAdmin(spec) as admin:
        lab = KafkaLab(folder, spec, admin)
        try:
            yield lab
        finally:
            lab.close()
