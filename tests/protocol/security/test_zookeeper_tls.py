"""TLS with ZooKeeper from Kafka's keys: what each store holds, and what none can use."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from protocol.configs.broker import BrokerConfig
from protocol.security.tls import SecurityConfigError, server_context
from protocol.security.zookeeper_tls import zookeeper_tls
from tests.protocol.security.test_tls import AUTHORITY, OWN, as_pkcs12, handshake

ENABLED = {"zookeeper.ssl.client.enable": "true"}
LOCATION, TYPE = "zookeeper.ssl.keystore.location", "zookeeper.ssl.keystore.type"
TRUSTED, TRUSTED_TYPE = "zookeeper.ssl.truststore.location", "zookeeper.ssl.truststore.type"
PASSWORD = "zookeeper.ssl.keystore.password"


@pytest.fixture
def trusting(tmp_path: Path) -> dict[str, str]:
    """Keys of a broker that trusts the authority."""
    file = tmp_path / "ca.pem"
    file.write_text(AUTHORITY.certificate)
    return {**ENABLED, TRUSTED: str(file)}


def server(client_auth: str) -> ssl.SSLContext:
    config = BrokerConfig(
        ssl_keystore_certificate_chain=OWN.certificate,
        ssl_keystore_key=OWN.key,
        ssl_truststore_certificates=AUTHORITY.certificate,
        ssl_client_auth=client_auth,
    )
    return server_context(config)


def context_of(configs: dict[str, str]) -> ssl.SSLContext:
    make = zookeeper_tls(configs)
    assert make is not None
    return make()


def test_without_the_key_that_enables_it_no_tls_is_spoken() -> None:
    assert zookeeper_tls({}) is None
    assert zookeeper_tls({"zookeeper.ssl.client.enable": "false"}) is None


def test_a_truststore_is_enough_for_a_zookeeper_that_asks_for_no_certificate(
    trusting: dict[str, str],
) -> None:
    assert handshake(server("none"), context_of(trusting)) == "TLSv1.2"
    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        handshake(server("none"), context_of(trusting), "10.0.0.1")
    any_host = {**trusting, "zookeeper.ssl.endpoint.identification.algorithm": ""}
    assert handshake(server("none"), context_of(any_host), "10.0.0.1") == "TLSv1.2"


@pytest.mark.parametrize("name", ["own.pem", "own.p12", "own.store"])
def test_a_keystore_is_shown_to_one_that_does(
    tmp_path: Path, trusting: dict[str, str], name: str
) -> None:
    file, is_pem = tmp_path / name, name.endswith("pem")
    file.write_bytes((OWN.key + OWN.certificate).encode() if is_pem else as_pkcs12(OWN, b"secret"))
    own = {**trusting, LOCATION: str(file), PASSWORD: "secret"}
    if name.endswith("store"):
        own[TYPE] = "PKCS12"
    assert handshake(server("required"), context_of(own)) == "TLSv1.2"
    with pytest.raises(ssl.SSLError, match=r"(?i)peer did not return a certificate"):
        handshake(server("required"), context_of(trusting))


@pytest.mark.parametrize(
    ("enabled", "spoken"),
    [
        ({"zookeeper.ssl.protocol": "TLSv1.3"}, "TLSv1.3"),
        ({"zookeeper.ssl.enabled.protocols": "TLSv1.3,TLSv1.2"}, "TLSv1.3"),
        ({"zookeeper.ssl.enabled.protocols": "TLSv1.2"}, "TLSv1.2"),
        ({"zookeeper.ssl.enabled.protocols": ""}, "TLSv1.2"),
    ],
)
def test_versions_are_those_that_are_enabled(
    trusting: dict[str, str], enabled: dict[str, str], spoken: str
) -> None:
    assert handshake(server("none"), context_of({**trusting, **enabled})) == spoken


def test_stores_are_read_again_at_the_next_connection(trusting: dict[str, str]) -> None:
    make = zookeeper_tls(trusting)
    assert make is not None
    Path(trusting[TRUSTED]).write_text("")
    with pytest.raises(SecurityConfigError, match=r"zookeeper\.ssl\.truststore\.location: cannot"):
        make()


@pytest.mark.parametrize(
    ("configs", "said"),
    [
        ({TRUSTED: "/nowhere.pem"}, f"{TRUSTED}: /nowhere.pem cannot be read"),
        ({TRUSTED: "/nowhere"}, f"{TRUSTED_TYPE}: must be PEM or PKCS12: the name of /nowhere"),
        ({LOCATION: __file__, TYPE: "JKS"}, f"{TYPE}: must be PEM or PKCS12, is JKS"),
        ({LOCATION: __file__, TYPE: "PEM"}, f"{LOCATION}: cannot be used"),
    ],
)
def test_keys_that_make_no_context_are_told_by_their_own_names(
    configs: dict[str, str], said: str
) -> None:
    with pytest.raises(SecurityConfigError) as raised:
        zookeeper_tls({**ENABLED, **configs})
    assert str(raised.value).startswith(said)
