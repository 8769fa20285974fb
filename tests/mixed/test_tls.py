"""ZooKeeper that speaks TLS alone; brokers of both kinds meet there by the same configs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from benchmarks.certificates import Authority
from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.elsewhere import cluster_behind
from jbodlab.processes.cluster import Cluster
from jbodlab.processes.free_ports import free_ports
from protocol.security.zookeeper_tls import zookeeper_tls
from protocol.zookeeper_client.tls_handler import TlsHandler
from tests.deadlines import DEADLINE_S
from tests.mixed.apache_nodes import LOG_DIRS, ApacheNodes
from tests.mixed.election import elections
from tests.mixed.mixed_lab import MixedLab
from tests.mixed.test_access import JAAS, PASSWORD, USER, access_below

pytestmark = [
    pytest.mark.integration,
    pytest.mark.sampled_among("clusters beside Apache Kafka", kept=0),
]
APACHE, OWN = 1, 4
SESSION_TIMEOUT_MS: Final = 6000
CLUSTER_ID: Final = "speaksTlsAloneAAAAAAAA"
CONFIGS: Final = {
    "zookeeper.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "offsets.topic.replication.factor": "1",
}
TRUSTED, SHOWN = "zookeeper.ssl.truststore.location", "zookeeper.ssl.keystore.location"
BAD_CONFIG: Final = 2
READ, ALL = 1, 31


class Stores:
    """PEM files: an authority, and certificates that it signed."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._authority = folder, Authority()
        self.authority = self._write("ca", self._authority.certificate)

    def of(self, name: str) -> str:
        """Write the key and certificate of ``CN=name,O=lab``; return where."""
        signed = self._authority.sign(name)
        return self._write(name, signed.key + signed.certificate)

    def of_a_stranger(self) -> str:
        """Write the certificate of another authority."""
        return self._write("other-ca", Authority("other CA").certificate)

    def server_configs(self, client_auth: str) -> dict[str, str]:
        """Return what ZooKeeper is started with."""
        return {
            "ssl.keyStore.location": self.of("zookeeper"),
            "ssl.trustStore.location": self.authority,
            "ssl.clientAuth": client_auth,
        }

    def configs(self, trusted: str | None = None, shown: str | None = None) -> dict[str, str]:
        """Return what a broker of either kind is configured with."""
        own = {} if shown is None else {SHOWN: shown}
        return {
            "zookeeper.ssl.client.enable": "true",
            "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
            TRUSTED: trusted or self.authority,
            **own,
        }

    def _write(self, name: str, text: str) -> str:
        file = self._folder / f"{name}.pem"
        file.write_text(text)
        return str(file)


class Encrypted(NamedTuple):
    lab: MixedLab
    own: Cluster
    stores: Stores
    refused: Mapping[str, subprocess.Popen[bytes]]
    """Processes that ZooKeeper is not for."""


@pytest.fixture(scope="module")
def encrypted(lab: MixedLab) -> Generator[Encrypted]:
    """A cluster of one broker of each kind, which show certificates; jbodlab's may be elected."""
    with ApacheNodes(lab.nodes.folder / "encrypted", (APACHE, OWN)) as nodes:
        stores = Stores(nodes.folder)
        nodes.start_zookeeper(JAAS, stores.server_configs("need"))
        make_context = zookeeper_tls(stores.configs(shown=stores.of("test")))
        assert make_context is not None
        nodes.kazoo = lambda: {"use_ssl": True, "handler": TlsHandler(make_context)}
        strange = stores.configs(stores.of_a_stranger())
        refused = {
            "strange-broker": _spawn(nodes, "broker", "strange-broker", strange),
            "strange-controller": _spawn(nodes, "controller", "strange-controller", strange),
            "nameless-broker": _spawn(nodes, "broker", "nameless-broker", stores.configs()),
        }
        apache = stores.configs(shown=stores.of("apache"))
        nodes.start_brokers({APACHE: {**CONFIGS, **apache}})
        for process in refused.values():
            process.wait(DEADLINE_S)
        with elections(nodes) as looking:
            cluster_id = looking.cluster_id()
        configs = stores.configs(shown=stores.of("jbodlab"))
        own = Cluster(_cluster_file(nodes, configs, cluster_id))
        try:
            own.start()
            nodes.wait_until(
                lambda: len(cluster_behind(nodes.bootstrap).brokers) == 2, "both brokers are known"
            )
            with ClusterAdmin(cluster_behind(nodes.bootstrap)) as admin:
                yield Encrypted(MixedLab(nodes, admin), own, stores, refused)
        finally:
            own.stop()


def test_both_kinds_lead_by_a_zookeeper_that_asks_for_certificates(encrypted: Encrypted) -> None:
    lab = encrypted.lab
    with elections(lab.nodes) as looking:
        looking.elect(APACHE.__eq__)
        lab.create("by-apache", (APACHE, OWN), (OWN, APACHE))
        with lab.checked_load("by-apache", 2) as load:
            looking.elect(OWN.__eq__)
            lab.create("by-jbodlab", (APACHE, OWN), (OWN, APACHE))
            lab.wait_for_records(load, 100)


@pytest.mark.parametrize(
    ("who", "key"),
    [("strange-broker", TRUSTED), ("strange-controller", TRUSTED), ("nameless-broker", SHOWN)],
)
def test_who_cannot_shake_hands_says_which_setting_to_look_at_and_ends(
    encrypted: Encrypted, who: str, key: str
) -> None:
    told = (encrypted.lab.nodes.folder / f"{who}.log").read_text()
    assert encrypted.refused[who].returncode == BAD_CONFIG, told
    last = told.splitlines()[-1]
    assert f"/{who} within {SESSION_TIMEOUT_MS} ms: see zookeeper.connect (Connection" in last
    assert last.endswith(f": see {key})")
    assert "kazoo.client: Connection dropped" in told


@pytest.mark.parametrize("login", [{}, {"username": USER, "password": PASSWORD}])
def test_what_is_made_belongs_to_who_the_certificate_is_for_and_to_who_logs_in(
    encrypted: Encrypted, login: Mapping[str, str]
) -> None:
    nodes, chroot = encrypted.lab.nodes, f"/closed-{len(login)}"
    configs = encrypted.stores.configs(shown=encrypted.stores.of("closed"))
    access = {"set_acl": True, **login}
    own = Cluster(_cluster_file(nodes, configs, CLUSTER_ID, chroot, access))
    try:
        own.start()
        with elections(nodes) as looking:
            found = access_below(looking.zookeeper, f"{chroot}/brokers/topics")
    finally:
        own.stop()
    by_login = [("sasl", USER, ALL)] if login else []
    by_certificate = [("x509", "CN=closed,O=lab", ALL)]
    assert found[""] == [*by_login, ("world", "anyone", READ), *by_certificate]


def test_zookeeper_comes_back_and_a_broker_needs_no_certificate_any_more(
    encrypted: Encrypted,
) -> None:
    lab, stores = encrypted.lab, encrypted.stores
    lab.create("on-and-on", (OWN, APACHE), (APACHE, OWN))
    with lab.checked_load("on-and-on", 2) as load:
        lab.nodes.stop_zookeeper()
        lab.nodes.start_zookeeper(JAAS, stores.server_configs("want"))
        with elections(lab.nodes) as looking:
            looking.elect(APACHE.__eq__)
            encrypted.own.stop()
            own = Cluster(_cluster_file(lab.nodes, stores.configs(), looking.cluster_id()))
            try:
                own.start()
                looking.elect(OWN.__eq__)
                lab.wait_for_records(load, 100)
                lab.wait_for_isr("on-and-on", 2)
            finally:
                encrypted.own.processes.update(own.processes)


def _spawn(
    nodes: ApacheNodes, module: str, name: str, configs: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a node that is to be refused before it has anything to do with a cluster."""
    file = _cluster_file(nodes, configs, CLUSTER_ID, f"/{name}")
    own = ["--id", str(OWN)] if module == "broker" else []
    command = [sys.executable, "-m", module, "--config", str(file), *own]
    with (nodes.folder / f"{name}.log").open("wb") as out:
        return subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)


def _cluster_file(
    nodes: ApacheNodes,
    configs: Mapping[str, str],
    cluster_id: str,
    chroot: str = "",
    access: Mapping[str, Any] | None = None,
) -> Path:
    controller_port, control_port, port = free_ports(3)
    document: dict[str, Any] = {
        "cluster_id": cluster_id,
        "zookeeper": {
            "connect": f"{nodes.zookeeper_connect}{chroot}",
            "session_timeout_ms": SESSION_TIMEOUT_MS,
            **(access or {}),
        },
        "controller": {"port": controller_port, "id": OWN},
        "configs": dict(configs),
        "brokers": [
            {
                "id": OWN,
                "port": port if chroot else nodes.ports[OWN],
                "control_port": control_port,
                "log_dirs": [
                    {"path": str(nodes.log_dir(OWN, f"{chroot.strip('/')}-{name}"))}
                    for name in LOG_DIRS
                ],
            }
        ],
    }
    file = nodes.folder / f"cluster{chroot.replace('/', '-')}.yaml"
    file.write_text(json.dumps(document))
    return file
