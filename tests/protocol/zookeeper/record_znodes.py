"""Writes ``znodes-3.9.2.json``: what two brokers of Apache Kafka 3.9.2 put into ZooKeeper.

``python -m tests.protocol.zookeeper.record_znodes`` needs Java and the jars of ``benchmarks.peer``.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient  # pyright: ignore[reportMissingTypeStubs]
from kazoo.exceptions import NoNodeError  # pyright: ignore[reportMissingTypeStubs]

from benchmarks.peer.kafka import BUILD_DIR, fetch
from jbodlab.processes.free_ports import free_port

OUTPUT = Path(__file__).with_name("znodes-3.9.2.json")
_DEADLINE_S = 90
_JVM = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_BROKER = """\
broker.id={id}
broker.rack=r{id}
listeners=PLAINTEXT://127.0.0.1:{port}
log.dirs={root}/{id}-a,{root}/{id}-b
zookeeper.connect=127.0.0.1:{zookeeper}/kafka
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""
_TOOLS = "org.apache.kafka.tools."


class _Cluster:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.libs = fetch(BUILD_DIR)
        self.zookeeper, self.ports = free_port(), (free_port(), free_port())
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        config = self.root / "zookeeper.properties"
        config.write_text(
            f"dataDir={self.root}/zk\nclientPort={self.zookeeper}\nadmin.enableServer=false\n"
        )
        self._spawn("org.apache.zookeeper.server.quorum.QuorumPeerMain", config)
        for broker_id, port in enumerate(self.ports, 1):
            file = self.root / f"{broker_id}.properties"
            text = _BROKER.format(id=broker_id, port=port, root=self.root, zookeeper=self.zookeeper)
            file.write_text(text)
            self._spawn("kafka.Kafka", file)

    def until(self, condition: Callable[[], object]) -> None:
        """Return when ``condition`` holds, and ZooKeeper has not ended."""
        end = time.monotonic() + _DEADLINE_S
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(condition)
            with suppress(subprocess.TimeoutExpired):
                self.processes[0].wait(0.2)
                raise ChildProcessError(self.root)

    def tool(self, main: str, *arguments: str) -> None:
        server = ("--bootstrap-server", f"127.0.0.1:{self.ports[0]}")
        command = ["java", *_JVM, "-cp", f"{self.libs}/*", main, *server, *arguments]
        subprocess.run(command, check=True, capture_output=True, timeout=_DEADLINE_S)

    def _spawn(self, main: str, config: Path) -> None:
        command = ["java", *_JVM, "-cp", f"{self.libs}/*", main, str(config)]
        with config.with_suffix(".log").open("wb") as out:
            self.processes.append(
                subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=self.root)
            )


@contextmanager
def _cluster() -> Generator[_Cluster]:
    with tempfile.TemporaryDirectory() as folder:
        cluster = _Cluster(Path(folder))
        try:
            cluster.start()
            yield cluster
        finally:
            for process in cluster.processes:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGCONT)
                process.kill()
                process.wait()


def _children(client: Any, path: str) -> Sequence[str]:
    try:
        return client.get_children(path)
    except NoNodeError:
        return ()


def _dump(client: Any, path: str, into: dict[str, str | None]) -> None:
    data, _ = client.get(path)
    into[path] = None if data is None else data.decode()
    for child in sorted(client.get_children(path)):
        _dump(client, f"{'' if path == '/' else path}/{child}", into)


def _tell_stories(cluster: _Cluster, client: Any) -> None:
    cluster.until(lambda: len(_children(client, "/brokers/ids")) == 2)
    cluster.until(lambda: client.exists("/controller"))
    topics = ("--partitions", "2", "--replication-factor", "2")
    cluster.tool(_TOOLS + "TopicCommand", "--create", "--topic", "plain", *topics)
    compact = ("--config", "cleanup.policy=compact", "--config", "retention.ms=60000")
    cluster.tool(_TOOLS + "TopicCommand", "--create", "--topic", "tuned", *compact)
    for entity in (("--entity-name", "1"), ("--entity-default",)):
        change = ("--alter", "--add-config", "log.cleaner.threads=2")
        cluster.tool("kafka.admin.ConfigCommand", "--entity-type", "brokers", *entity, *change)
    cluster.tool(_TOOLS + "GetOffsetShell", "--topic", "plain")


def _fail_a_log_dir_unheard(cluster: _Cluster, client: Any) -> None:
    """Stop the controller, so that the notice of the other broker's failed log dir stays."""
    holder, _ = client.get("/controller")
    controller_id = int(json.loads(holder)["brokerid"])
    other = 3 - controller_id
    os.kill(cluster.processes[controller_id].pid, signal.SIGSTOP)
    folder = cluster.root / f"{other}-a"
    shutil.rmtree(folder)
    folder.write_text("no disk")
    cluster.until(lambda: _children(client, "/log_dir_event_notification"))


def main() -> None:
    """Run the cluster through what leaves znodes behind, and write all of them down."""
    with _cluster() as cluster:
        client: Any = KazooClient(f"127.0.0.1:{cluster.zookeeper}/kafka")
        client.start(timeout=_DEADLINE_S)
        _tell_stories(cluster, client)
        _fail_a_log_dir_unheard(cluster, client)
        znodes: dict[str, str | None] = {}
        _dump(client, "/", znodes)
        client.stop()
    OUTPUT.write_text(json.dumps(znodes, indent=1) + "\n")


if __name__ == "__main__":
    main()
