"""A broker of Apache Kafka 3.9.2 that is its own controller, with an authorizer and two users."""

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
from protocol.configs.authorizer import STANDARD_AUTHORIZER
from protocol.messages.api_versions import ApiVersionsRequest
from tests.api_decisions.jbodlab_lab import ADMIN, ALICE, logged_in
from tests.deadlines import DEADLINE_S

RELEASE: Final = "3.9.2"
_FAST_JVM: Final = ("-Xmx400m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_FILE: Final = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=NODES://127.0.0.1:{nodes},CLIENTS://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=NODES:PLAINTEXT,CLIENTS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=NODES
controller.listener.names=CONTROLLER
sasl.enabled.mechanisms=PLAIN
listener.name.clients.plain.sasl.jaas.config={plain} required {users};
authorizer.class.name={authorizer}
super.users=User:{admin};User:ANONYMOUS
delegation.token.secret.key=secret
log.dirs={root}/d1,{root}/d2
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.coordinator.rebalance.protocols=classic,consumer
"""


@contextmanager
def apache_clients(folder: Path) -> Generator[tuple[BlockingClient, BlockingClient]]:
    """Run it for the length of a block; give clients of the administrator and of alice.

    Raises:
        PeerMissingError: there is no Java, no Maven, or no download.
    """
    libs, port = fetch(BUILD_DIR, RELEASE), free_port()
    config = folder / "server.properties"
    config.write_text(
        _FILE.format(
            port=port,
            nodes=free_port(),
            controller=free_port(),
            root=folder,
            plain=_PLAIN,
            admin=ADMIN,
            users=" ".join(f'user_{user}="secret"' for user in (ADMIN, ALICE)),
            authorizer=STANDARD_AUTHORIZER,
        )
    )
    java = ["java", *_FAST_JVM, "-cp", f"{libs}/*"]
    storage = ["kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ"]
    subprocess.run([*java, *storage, "-c", str(config)], check=True, capture_output=True)
    with (folder / "broker.log").open("wb") as log:
        broker = subprocess.Popen([*java, "kafka.Kafka", str(config)], stdout=log, stderr=log)
    try:
        clients = [_connected(port, user, broker) for user in (ADMIN, ALICE)]
        yield clients[0], clients[1]
        for each in clients:
            each.close()
    finally:
        broker.kill()
        broker.wait(DEADLINE_S)


def _connected(port: int, user: str, broker: subprocess.Popen[bytes]) -> BlockingClient:
    request = ApiVersionsRequest(client_software_name="asked", client_software_version="1")
    end_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < end_s and broker.poll() is None:
        client = logged_in(port, user)
        with suppress(OSError):
            client.request(request, 3)
            return client
        client.close()
        with suppress(subprocess.TimeoutExpired):
            broker.wait(0.2)
    raise SystemExit(f"Apache Kafka {RELEASE} did not start in {DEADLINE_S} s")
