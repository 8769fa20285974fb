"""Kafka's ``kafka-configs`` exchanges a listener's certificate and sets its limits."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

import pytest

import jbodlab
from benchmarks.certificates import Authority
from benchmarks.peer.kafka import PeerMissingError
from tests.deadlines import DEADLINE_S
from tests.integration.labs import FAST, PATIENT_MS
from tests.kafka_tools.conftest import BUILD
from tests.kafka_tools.tools import RELEASES, KafkaTools, Printed

LISTENER = "listener.name.sasl_ssl"
KEYSTORE = f"{LISTENER}.ssl.keystore.location"


class Secured(NamedTuple):
    """The tools of one release at a secured cluster."""

    tools: KafkaTools
    cluster: jbodlab.Cluster

    @property
    def folder(self) -> Path:
        return self.cluster.client_file("admin.properties").parents[1]

    def configs(self, words: str) -> Printed:
        admin = self.cluster.client_file("admin.properties")
        of_broker = f"--entity-type brokers --entity-name 1 --command-config {admin}"
        return self.tools.run(f"kafka-configs {words} {of_broker}")

    def store(self, subject: str) -> Path:
        """Write a store that the nodes' authority signed."""
        authority = [(self.folder / name).read_text() for name in ("ca.pem", "ca-key.pem")]
        signed = Authority.kept(*authority).sign(subject, organization=None)
        file = self.folder / f"{subject.replace(' ', '-')}.pem"
        file.write_text(signed.key + signed.certificate)
        return file

    def serial(self) -> str:
        """Return the serial number of the certificate that broker 1 shows."""
        host, _, port = self.cluster.broker(1).address.rpartition(":")
        context = ssl.create_default_context(cafile=str(self.folder / "ca.pem"))
        with (
            socket.create_connection((host, int(port)), DEADLINE_S) as raw,
            context.wrap_socket(raw, server_hostname=host) as connection,
        ):
            found = connection.getpeercert()
        assert found is not None
        return str(found["serialNumber"])


@pytest.fixture(params=RELEASES)
def listener_tools(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Secured]:
    """The tools of one release, at a secured cluster of their own."""
    with jbodlab.Cluster(
        brokers=1,
        log_dirs=1,
        secure=True,
        configs=FAST,
        session_timeout_ms=PATIENT_MS,
        folder=tmp_path / "lab",
    ) as cluster:
        try:
            tools = KafkaTools(request.param, BUILD, tmp_path, cluster.bootstrap_servers)
        except PeerMissingError as error:
            pytest.skip(str(error))
        yield Secured(tools, cluster)
        tools.close()


@pytest.mark.sampled("listener_tools", kept=1, together="releases of tools")
def test_a_certificate_is_exchanged_shown_and_taken_back(listener_tools: Secured):
    configs, first = listener_tools.configs, listener_tools.serial()
    refused = configs(f"--alter --add-config {KEYSTORE}={listener_tools.store('other')}")
    assert refused.code == 1
    assert "Keystore DistinguishedName does not match" in refused.out + refused.err
    assert listener_tools.serial() == first

    fresh = listener_tools.store("jbodlab node")
    changed = configs(f"--alter --add-config {KEYSTORE}={fresh}")
    assert changed == Printed(0, "Completed updating config for broker 1.\n")
    assert listener_tools.serial() != first
    described = configs("--describe")
    assert f"  {KEYSTORE}={fresh} sensitive=false synonyms=" in described.out

    taken_back = configs(f"--alter --delete-config {KEYSTORE}")
    assert taken_back == Printed(0, "Completed updating config for broker 1.\n")
    assert listener_tools.serial() == first


@pytest.mark.sampled("listener_tools", kept=1, together="releases of tools")
def test_limits_are_set_and_what_stays_until_a_restart_is_refused(listener_tools: Secured):
    configs = listener_tools.configs
    limits = f"{LISTENER}.max.connections=500,max.connections.per.ip=400"
    changed = configs(f"--alter --add-config {limits}")
    assert changed == Printed(0, "Completed updating config for broker 1.\n")
    described = configs("--describe")
    assert f"  {LISTENER}.max.connections=500 sensitive=false" in described.out
    assert "  max.connections.per.ip=400 sensitive=false" in described.out
    refused = configs(f"--alter --add-config {LISTENER}.ssl.client.auth=required")
    assert refused.code == 1
    assert (
        "Configs cannot be updated dynamically for existing listener ListenerName(SASL_SSL), "
        "restart broker or create a new listener for update"
    ) in refused.out + refused.err
