"""A controller of Apache Kafka 4.3.1 that is a KRaft quorum of one, and has no broker yet."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from benchmarks.peer.kafka import BUILD_DIR, fetch
from jbodlab.asking.rpc import BlockingClient
from jbodlab.processes.free_ports import free_port
from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.deadlines import DEADLINE_S

RELEASE: Final = "4.3.1"
CLUSTER_ID: Final = "AAAAAAAAAAAAAAAAAAAAAQ"
CONTROLLER: Final = 100
_TIMEOUT_MS: Final = 30_000
_LOOK_S: Final = 0.2
_FILE: Final = """\
process.roles=controller
node.id={id}
controller.quorum.voters={id}@127.0.0.1:{port}
listeners=CONTROLLER://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={root}/metadata
broker.session.timeout.ms=30000
"""
_JVM: Final = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


@contextmanager
def kraft_controller(root: Path) -> Generator[BlockingClient]:
    """Run one, new, for the length of a block; give a connection to it.

    Raises:
        PeerMissingError: Java, Maven or a download is missing.
    """
    libs = fetch(BUILD_DIR, RELEASE)
    port = free_port()
    config = root / "controller.properties"
    config.write_text(_FILE.format(id=CONTROLLER, port=port, root=root))
    java = ["java", *_JVM, "-cp", f"{libs}/*"]
    storage = ["kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(config)]
    subprocess.run([*java, *storage], check=True, capture_output=True)
    with (root / "controller.log").open("wb") as log:
        process = subprocess.Popen([*java, "kafka.Kafka", str(config)], stdout=log, stderr=log)
    client = BlockingClient("127.0.0.1", port, timeout_ms=_TIMEOUT_MS)
    try:
        _wait_until_led(client, process)
        yield client
    finally:
        client.close()
        process.kill()
        process.wait(DEADLINE_S)


def _wait_until_led(client: BlockingClient, process: subprocess.Popen[bytes]) -> None:
    """Wait until the quorum has finalized its metadata version: then it is led and serves."""
    asked = ApiVersionsRequest(client_software_name="jbodlab", client_software_version="1")
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end and process.poll() is None:
        with suppress(OSError):
            told: ApiVersionsResponse = client.request(asked, 4)
            if any(each.name == "metadata.version" for each in told.finalized_features):
                return
        with suppress(subprocess.TimeoutExpired):
            process.wait(_LOOK_S)
    raise AssertionError(f"Apache Kafka {RELEASE}: no quorum after {DEADLINE_S} s")
