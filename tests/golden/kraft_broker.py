"""One broker of Apache Kafka 4.3.1 that is its own controller, for the makers of golden files."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from benchmarks.peer.kafka import BUILD_DIR, fetch
from jbodlab.asking.rpc import BlockingClient
from jbodlab.processes.free_ports import free_port
from protocol.messages.api_versions import ApiVersionsRequest
from tests.deadlines import DEADLINE_S

RELEASE: Final = "4.3.1"
_TIMEOUT_MS: Final = 30_000
_CLUSTER_ID: Final = "AAAAAAAAAAAAAAAAAAAAAQ"
_FILE: Final = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={root}/data
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""
_LOG_REQUESTS: Final = "-Dorg.slf4j.simpleLogger.log.kafka.request.logger=trace"
_LOGGER: Final = "org.slf4j:slf4j-simple:1.7.36"
"""Kafka comes without any; this one writes to stderr."""
_FAST_JVM: Final = ("-Xmx400m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


@contextmanager
def kraft_broker(request_log: Path | None = None) -> Generator[BlockingClient]:
    """Run it, new, for the length of a block; give a connection to it.

    Args:
        request_log: where it writes down every request and its answer, one a line.
    """
    libs = fetch(BUILD_DIR, RELEASE)
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        config = Path(folder) / "server.properties"
        config.write_text(_FILE.format(port=port, controller=free_port(), root=folder))
        java = ["java", *_FAST_JVM, "-cp", f"{libs}/*{os.pathsep}{folder}/*"]
        storage = ["kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(config)]
        subprocess.run([*java, *storage], check=True, capture_output=True)
        log_path = Path(folder) / "broker.log" if request_log is None else request_log
        command = [*java, "kafka.Kafka", str(config)]
        if request_log is not None:
            command.insert(1, _LOG_REQUESTS)
            copied = [f"-Dartifact={_LOGGER}", f"-DoutputDirectory={folder}"]
            subprocess.run(["mvn", "-q", "-B", "dependency:copy", *copied], check=True)
        with log_path.open("wb") as log:
            broker = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            client = _connected(port, broker)
            yield client
            client.close()
        finally:
            broker.kill()
            broker.wait(DEADLINE_S)


def _connected(port: int, broker: subprocess.Popen[bytes]) -> BlockingClient:
    request = ApiVersionsRequest(client_software_name="golden", client_software_version="1")
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end and broker.poll() is None:
        client = BlockingClient("127.0.0.1", port, timeout_ms=_TIMEOUT_MS)
        with suppress(OSError):
            client.request(request, 4)
            return client
        client.close()
        with suppress(subprocess.TimeoutExpired):
            broker.wait(0.2)
    raise SystemExit(f"Apache Kafka {RELEASE} did not start in {DEADLINE_S} s")
