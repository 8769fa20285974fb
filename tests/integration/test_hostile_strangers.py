"""Strangers at secured listeners cost a closed connection; who is no broker changes no epoch."""

from __future__ import annotations

import time
from collections.abc import Generator

import pytest

from benchmarks.hostile import epochs
from benchmarks.hostile.handshakes import CLOSED, Attack, attacks
from benchmarks.secured_lab import CA_FILE, HOST, PASSWORD, USER, SecuredLab, write_secured_lab
from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.rpc import BlockingClient
from jbodlab.processes.cluster import Cluster, running
from protocol.configs.authorizer import STANDARD_AUTHORIZER
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.security.client import ClientSecurity, security_by
from tests.deadlines import DEADLINE_MS
from tests.integration.labs import FAST

TOPIC = "epochs"
GROWN_BYTES_MAX = 40_000_000
CONFIGS = {
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:broker;User:ANONYMOUS",
    "connection.failed.authentication.delay.ms": "10",
}


@pytest.fixture(scope="module")
def secured(
    tmp_path_factory: pytest.TempPathFactory,
) -> Generator[tuple[SecuredLab, Cluster]]:
    folder = tmp_path_factory.mktemp("strangers")
    lab = write_secured_lab(folder, topics=[TOPIC], configs=FAST | CONFIGS)
    with running(Cluster(lab.file)) as cluster:
        cluster.wait_until(has_partition, f"{TOPIC} is there")
        yield lab, cluster
    logs = [each.read_text(errors="replace") for each in folder.rglob("*.log")]
    assert logs
    assert not any("Traceback" in each for each in logs)


def alice(lab: SecuredLab) -> ClientSecurity:
    """Return what she logs in with; no ACL says that she may do anything."""
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    properties = {
        "security.protocol": "SASL_SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(lab.folder / CA_FILE),
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{module} required username="{USER}" password="{PASSWORD}";',
    }
    return security_by(properties, time.time_ns() // 1_000_000)


@pytest.mark.parametrize("attack", attacks(), ids=lambda attack: attack.name.replace(" ", "-"))
def test_a_stranger_costs_a_closed_connection(
    secured: tuple[SecuredLab, Cluster], attack: Attack
) -> None:
    lab, cluster = secured
    node = cluster.processes["broker-1"]
    before_bytes = node.rss_bytes()
    assert attack.strike(lab.ports[attack.listener]) == CLOSED
    assert node.rss_bytes() < before_bytes + GROWN_BYTES_MAX
    assert leader_epoch(cluster) == 0


def test_nobody_without_cluster_action_changes_an_epoch(
    secured: tuple[SecuredLab, Cluster],
) -> None:
    lab, cluster = secured
    before = leader_epoch(cluster)
    told: dict[str, str] = {}
    for port, requests in (
        (lab.ports["SASL_SSL"], epochs.at_broker(TOPIC)),
        (cluster.spec.controller.port, epochs.at_controller()),
    ):
        for name, (message, version) in requests.items():
            client = BlockingClient(HOST, port, timeout_ms=DEADLINE_MS, security=alice(lab))
            told[f"{name} at {port}"] = epochs.outcome(client, message, version)
            assert client.request(ApiVersionsRequest(), 0).error_code == 0  # she is logged in
            client.close()
    assert told == dict.fromkeys(told, epochs.REFUSED)
    assert leader_epoch(cluster) == before


def has_partition(admin: ClusterAdmin) -> bool:
    """Tell whether the topic of the cluster file has been created."""
    return len(admin.any_view([TOPIC]).partitions) == 1


def leader_epoch(cluster: Cluster) -> int:
    """Return that of the one partition, as its broker tells it."""
    with ClusterAdmin(cluster.spec) as admin:
        (partition,) = admin.any_view([TOPIC]).partitions
        return partition.leader_epoch
