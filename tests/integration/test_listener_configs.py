"""Certificates and limits of listeners are changed while a secured cluster runs, and stay so."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

import jbodlab
from benchmarks.certificates import Authority, Signed
from jbodlab.asking.java_properties import parse_properties
from jbodlab.asking.rpc import BlockingClient
from protocol.admin.configs import describe_configs_request
from protocol.configs.types import AlterOperation, ConfigSource, ResourceType
from protocol.messages.configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    IncrementalAlterConfigsResponse,
)
from protocol.security.client import security_by
from tests.controller.core.altering import incremental
from tests.deadlines import DEADLINE_S
from tests.integration.labs import FAST, PATIENT_MS

LISTENER = "listener.name.sasl_ssl"
KEYSTORE = f"{LISTENER}.ssl.keystore.location"
NODE = "jbodlab node"
MANY = 30
"""Connections, more than nodes have among themselves."""
FAILED = "Validation of dynamic config update of SSLFactory failed: "
DYNAMIC = ConfigSource.DYNAMIC_BROKER_CONFIG


class Secured:
    """A secured cluster with its authority, and what an administrator asks its brokers."""

    def __init__(self, cluster: jbodlab.Cluster) -> None:
        self.cluster = cluster
        self.folder = cluster.client_file("admin.properties").parents[1]
        authority = [(self.folder / name).read_text() for name in ("ca.pem", "ca-key.pem")]
        self.authority = Authority.kept(*authority)

    def address(self, broker_id: int) -> tuple[str, int]:
        """Return where a broker listens."""
        host, _, port = self.cluster.broker(broker_id).address.rpartition(":")
        return host, int(port)

    def store(self, name: str, authority: Authority, subject: str = NODE) -> Path:
        """Write a store with a new certificate."""
        signed = authority.sign(subject, organization=None)
        file = self.folder / name
        file.write_text(signed.key + signed.certificate)
        return file

    def ask(self, request: Any, version: int, broker_id: int = 1) -> Any:
        """Have a broker answer on a new connection."""
        properties = parse_properties(self.cluster.client_file("admin.properties").read_text())
        security = security_by(properties, 0)
        client = BlockingClient(*self.address(broker_id), security=security)
        try:
            return client.request(request, version)
        finally:
            client.close()

    def alter(self, changes: Mapping[str, str | None], broker_id: int = 1) -> str | None:
        """Set or unset keys of a broker; return why it is refused."""
        kind = ResourceType.BROKER
        ops = [
            (name, AlterOperation.SET if value is not None else AlterOperation.DELETE, value)
            for name, value in changes.items()
        ]
        response: IncrementalAlterConfigsResponse
        response = self.ask(incremental((kind, str(broker_id), ops)), 1, broker_id)
        (answer,) = response.responses
        return answer.error_message if answer.error_code else None

    def described(self, broker_id: int = 1) -> dict[str, DescribeConfigsResourceResult]:
        """Return the settings of a broker, with where they come from."""
        request = describe_configs_request(ResourceType.BROKER, [str(broker_id)])
        request.include_synonyms = True
        response: DescribeConfigsResponse = self.ask(request, 4, broker_id)
        return {entry.name: entry for entry in response.results[0].configs}

    def is_served(self, broker_id: int) -> bool:
        """Tell whether a broker answers on a new connection."""
        try:
            self.described(broker_id)
        except ConnectionError:
            return False
        return True

    def until_served(self, broker_id: int) -> None:
        """Wait until a broker answers."""
        end_s = time.monotonic() + DEADLINE_S
        while not self.is_served(broker_id):
            assert time.monotonic() < end_s

    def connected(self, broker_id: int) -> ssl.SSLSocket:
        """Return a connection to a broker, of a client that has not logged in."""
        host, port = self.address(broker_id)
        context = ssl.create_default_context(cadata=self.authority.certificate)
        raw = socket.create_connection((host, port), DEADLINE_S)
        return context.wrap_socket(raw, server_hostname=host)

    def serial(self, broker_id: int = 1) -> str:
        """Return the serial number of the certificate that a broker shows."""
        with self.connected(broker_id) as connection:
            found = connection.getpeercert()
        assert found is not None
        return str(found["serialNumber"])


def as_pkcs12(signed: Signed, password: bytes) -> bytes:
    """Return a store with a key and its certificate."""
    key = serialization.load_pem_private_key(signed.key.encode(), None)
    own = x509.load_pem_x509_certificate(signed.certificate.encode())
    form = serialization.BestAvailableEncryption(password)
    return pkcs12.serialize_key_and_certificates(b"own", key, own, None, form)  # pyright: ignore[reportArgumentType]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Generator[Secured]:
    with jbodlab.Cluster(
        brokers=2,
        log_dirs=1,
        secure=True,
        configs=FAST,
        session_timeout_ms=PATIENT_MS,
        folder=tmp_path_factory.mktemp("lab"),
    ) as cluster:
        cluster.create_topic("orders", partitions=1, replication_factor=2)
        yield Secured(cluster)


def test_a_broker_shows_another_certificate_from_then_on_and_after_a_restart(
    secured: Secured,
) -> None:
    first, other = secured.serial(), secured.serial(2)
    fresh = secured.store("fresh.pem", secured.authority)
    assert secured.alter({KEYSTORE: str(fresh)}) is None
    second = secured.serial()
    assert second != first
    assert secured.serial(2) == other
    entry = secured.described()[KEYSTORE]
    assert (entry.value, entry.config_source, entry.read_only) == (str(fresh), DYNAMIC, True)

    secured.cluster.broker(1).restart()
    assert secured.serial() == second
    assert secured.alter({KEYSTORE: None}) is None
    assert secured.serial() == first


def test_a_password_is_kept_over_a_restart_and_shown_to_nobody(secured: Secured) -> None:
    first, store = secured.serial(), secured.folder / "fresh.p12"
    store.write_bytes(as_pkcs12(secured.authority.sign(NODE, organization=None), b"hush-hush"))
    password = f"{LISTENER}.ssl.keystore.password"
    changes = {f"{LISTENER}.ssl.keystore.type": "PKCS12", KEYSTORE: str(store)}
    assert secured.alter({**changes, password: "wrong"}) == (
        f"{FAILED}Failed to load SSL keystore {store} of type PKCS12"
    )
    assert secured.alter({**changes, password: "hush-hush"}) is None
    second = secured.serial()
    assert second != first
    entry = secured.described()[password]
    assert (entry.value, entry.is_sensitive, entry.config_source) == (None, True, DYNAMIC)
    assert [(each.name, each.value) for each in entry.synonyms] == [(password, None)]

    secured.cluster.broker(1).restart()
    assert secured.serial() == second
    logs = "".join(each.read_text() for each in secured.cluster.folder.glob("data/run/*/*.log"))
    assert f"{password}=[hidden]" in logs
    assert "hush-hush" not in logs + secured.cluster.story()
    assert secured.alter(dict.fromkeys([*changes, password])) is None
    assert secured.serial() == first


def test_a_store_that_cannot_be_used_is_refused_in_kafkas_words(secured: Secured) -> None:
    first, folder = secured.serial(), secured.folder
    missing = folder / "missing.pem"
    assert secured.alter({KEYSTORE: str(missing)}) == (
        f"{FAILED}Failed to load PEM SSL keystore {missing}"
    )
    other = secured.store("other.pem", secured.authority, "somebody else")
    assert secured.alter({KEYSTORE: str(other)}) == (
        f"{FAILED}Keystore DistinguishedName does not match:  "
        f"existing={{alias=kafka, DN=CN={NODE}}}, new={{alias=kafka, DN=CN=somebody else}}"
    )
    foreign = secured.store("foreign.pem", Authority("foreign CA"))
    assert secured.alter({KEYSTORE: str(foreign)}) == (
        f"{FAILED}handshake failed: unable to get local issuer certificate"
    )
    assert secured.serial() == first
    assert KEYSTORE not in secured.described()


def test_limits_on_connections_hold_at_once(secured: Secured) -> None:
    limit = f"{LISTENER}.max.connections"
    assert secured.alter({limit: "0"}) == "Invalid max.connections 0"
    assert secured.alter({"max.connections.per.ip": "0"}) == (
        "requirement failed: max.connections.per.ip can be set to zero only if "
        "max.connections.per.ip.overrides property is set."
    )
    with ExitStack() as opened:
        for _ in range(MANY):
            opened.enter_context(secured.connected(1))
        assert secured.alter({"max.connections.per.ip.overrides": f"127.0.0.1:{MANY}"}) is None
        assert not secured.is_served(1)
        assert secured.is_served(2)
    secured.until_served(1)
    assert secured.alter({"max.connections.per.ip.overrides": None}) is None
    shown = secured.described()["max.connections.per.ip.overrides"]
    assert (shown.value, shown.read_only) == ("", False)
