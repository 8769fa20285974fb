"""A broker of jbodlab whose clients log in and whose authorizer decides."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.secured_lab import HOST, write_secured_lab
from jbodlab.asking.rpc import BlockingClient
from jbodlab.processes.cluster import Cluster, running
from protocol.configs.authorizer import STANDARD_AUTHORIZER
from protocol.security.client import security_by
from tests.integration.labs import FAST

ADMIN, ALICE = "admin", "alice"
_CONFIGS = {
    **FAST,
    "jbodlab.sasl.users": f"broker:secret,{ADMIN}:secret,{ALICE}:secret",
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": f"User:broker;User:{ADMIN};User:ANONYMOUS",
    "auto.create.topics.enable": "false",
    "delegation.token.secret.key": "secret",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}


def logged_in(port: int, user: str) -> BlockingClient:
    """Return a client that logs in by PLAIN without TLS."""
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    properties = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{module} required username="{user}" password="secret";',
    }
    security = security_by(properties, time.time_ns() // 1_000_000)
    return BlockingClient(HOST, port, security=security)


@contextmanager
def jbodlab_clients(folder: Path) -> Generator[tuple[BlockingClient, BlockingClient]]:
    """Run one broker for the length of a block; give clients of the administrator and of alice."""
    lab = write_secured_lab(folder, configs=_CONFIGS)
    with running(Cluster(lab.file)):
        clients = [logged_in(lab.ports["SASL_PLAINTEXT"], user) for user in (ADMIN, ALICE)]
        yield clients[0], clients[1]
        for each in clients:
            each.close()
