"""Three brokers of Apache Kafka to record and to judge: 3.9.2 with ZooKeeper, 4.3.1 with KRaft."""

from __future__ import annotations

import base64
import subprocess
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final

from benchmarks.peer.kafka import BROKER_IDS, BUILD_DIR, KafkaPeer, fetch
from conformance.core.catalogue import PLAIN, SECURED
from jbodlab.asking.rpc import BlockingClient
from jbodlab.processes.free_ports import free_port
from protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.conformance.secured import configs_of
from tests.deadlines import DEADLINE_S

RELEASES: Final = {"kafka-3.9": "3.9.2", "kafka-4.3": "4.3.1"}
JVM: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
CONFIGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "socket.request.max.bytes": "20000000",
}
"""That nothing takes long; no answer that is compared hangs on these."""
_LOOK_S: Final = 0.2
_CLUSTER_ID: Final = base64.urlsafe_b64encode(b"jbodlab-conform!").decode().rstrip("=")
_KRAFT: Final = """\
node.id={id}
process.roles={roles}
controller.quorum.voters=1@127.0.0.1:{quorum}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
listeners={listeners}
advertised.listeners={advertised}
log.dirs={dirs}
metadata.log.dir={metadata}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
auto.create.topics.enable=false
broker.rack={rack}
"""


@contextmanager
def apache_cluster(
    release: str,
    root: Path,
    profile: str = PLAIN,
    configs: Mapping[str, str] = CONFIGS,
) -> Generator[str]:
    """Run three brokers for the length of a block; give ``host:port`` of the first.

    Raises:
        PeerMissingError: Java, Maven or a download is missing.
    """
    run = _zookeeper_cluster if release == "kafka-3.9" else _kraft_cluster
    with run(root, configs, is_secured=profile == SECURED) as server:
        yield server


class _SecuredPeer(KafkaPeer):
    """In which clients log in; ``inner`` are the ports by which brokers speak with each other."""

    inner: Mapping[int, int] = MappingProxyType({})

    def configs_of(self, broker_id: int) -> Mapping[str, str]:
        port = self.bootstrap.split(",")[BROKER_IDS.index(broker_id)].rpartition(":")[2]
        secured = configs_of("kafka-3.9", int(port), self.inner[broker_id])
        return {**super().configs_of(broker_id), **secured}


@contextmanager
def _zookeeper_cluster(
    root: Path, configs: Mapping[str, str], *, is_secured: bool
) -> Generator[str]:
    peer = (_SecuredPeer if is_secured else KafkaPeer)(root, BUILD_DIR, configs, JVM)
    inner = {id_: free_port() for id_ in BROKER_IDS}
    if isinstance(peer, _SecuredPeer):
        peer.inner = inner
    try:
        peer.launch()
        peer.wait_until_up()
        server = peer.bootstrap.split(",")[0]
        _wait_for_brokers(f"127.0.0.1:{inner[1]}" if is_secured else server)
        yield server
    finally:
        peer.stop()


@contextmanager
def _kraft_cluster(root: Path, configs: Mapping[str, str], *, is_secured: bool) -> Generator[str]:
    libs = fetch(BUILD_DIR, RELEASES["kafka-4.3"])
    ports = {id_: free_port() for id_ in BROKER_IDS}
    inner = {id_: free_port() for id_ in BROKER_IDS}
    quorum = free_port()
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for id_, port in ports.items():
            secured = configs_of("kafka-4.3", port, inner[id_]) if is_secured else {}
            config = _configure(root, id_, (port, quorum), {**configs, **secured})
            tool = ["kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(config)]
            subprocess.run(_java(libs, "-Xmx128m", tool), check=True, capture_output=True)
            with (root / f"broker-{id_}.log").open("wb") as out:
                command = _java(libs, "-Xmx512m", ["kafka.Kafka", str(config)])
                processes.append(subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT))
        server = f"127.0.0.1:{ports[1]}"
        asked = f"127.0.0.1:{inner[1]}" if is_secured else server
        _wait_for_brokers(asked, processes[0])
        yield server
    finally:
        for process in processes:
            process.kill()
            process.wait(DEADLINE_S)


def _configure(root: Path, id_: int, ports: tuple[int, int], configs: Mapping[str, str]) -> Path:
    port, quorum = ports
    folder = root / f"b{id_}"
    dirs = [folder / f"d{number}" for number in (1, 2, 3)]
    for path in (*dirs, folder / "metadata"):
        path.mkdir(parents=True)
    listeners = configs.get("listeners", f"PLAINTEXT://127.0.0.1:{port}")
    text = _KRAFT.format(
        id=id_,
        roles="broker,controller" if id_ == 1 else "broker",
        quorum=quorum,
        listeners=f"{listeners},CONTROLLER://127.0.0.1:{quorum}" if id_ == 1 else listeners,
        advertised=listeners,
        dirs=",".join(map(str, dirs)),
        metadata=folder / "metadata",
        rack="abc"[id_ - 1],
    )
    config = root / f"broker-{id_}.properties"
    keys = {key: value for key, value in configs.items() if key != "listeners"}
    config.write_text(text + "".join(f"{key}={value}\n" for key, value in keys.items()))
    return config


def _java(libs: Path, heap: str, arguments: list[str]) -> list[str]:
    return ["java", heap, *JVM, "-cp", f"{libs}/*", *arguments]


def _wait_for_brokers(server: str, process: subprocess.Popen[bytes] | None = None) -> None:
    """Wait until all three are in the metadata, and rest by waiting for one that runs."""
    host, _, port = server.rpartition(":")
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        client = BlockingClient(host, int(port), timeout_ms=5000)
        try:
            answer: MetadataResponse = client.request(MetadataRequest(topics=[]), 12)
            if len(answer.brokers) == 3:
                return
        except OSError:
            pass
        finally:
            client.close()
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_S)
    raise AssertionError(f"no three brokers at {server} after {DEADLINE_S} s")
