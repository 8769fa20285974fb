"""Stores that a listener may take over while it runs, and Kafka's words for those it may not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.certificates import Authority, Signed
from protocol.configs.broker import BrokerConfig
from protocol.errors import KafkaError
from protocol.security.reconfiguration import OwnCertificate, check_stores, own_certificate

LAB, FOREIGN = Authority("lab CA"), Authority("foreign CA")
REFUSED = "INVALID_REQUEST: Validation of dynamic config update of SSLFactory failed: "
HELD = OwnCertificate("CN=broker, O=lab", ((2, "localhost"), (7, "127.0.0.1")))


def stored(folder: Path, name: str, signed: Signed, authority: Authority = LAB) -> BrokerConfig:
    """Return a configuration with a store in a file, and what it trusts in another one."""
    store, trusted = folder / f"{name}.pem", folder / f"{name}-ca.pem"
    store.write_text(signed.key + signed.certificate)
    trusted.write_text(authority.certificate)
    return BrokerConfig(ssl_keystore_location=str(store), ssl_truststore_location=str(trusted))


def refusal(
    before: BrokerConfig, after: BrokerConfig, *, between_nodes: bool = False
) -> str | None:
    """Return why the change is refused, without what all refusals begin with."""
    try:
        check_stores(own_certificate(before), before, after, is_between_nodes=between_nodes)
    except KafkaError as error:
        return f"{error.code.name}: {error.message}".removeprefix(REFUSED)
    return None


@pytest.fixture
def before(tmp_path: Path) -> BrokerConfig:
    return stored(tmp_path, "old", LAB.sign("broker"))


def test_the_subject_and_the_names_of_a_certificate_are_as_java_shows_them(
    before: BrokerConfig,
) -> None:
    assert own_certificate(before) == HELD
    assert own_certificate(BrokerConfig()) is None


@pytest.mark.parametrize("between_nodes", [False, True])
def test_another_certificate_for_the_same_name_may_be_taken(
    tmp_path: Path, before: BrokerConfig, between_nodes: bool
) -> None:
    after = stored(tmp_path, "new", LAB.sign("broker"))
    assert refusal(before, after, between_nodes=between_nodes) is None


def test_one_of_another_authority_may_be_taken_where_nodes_do_not_come(
    tmp_path: Path, before: BrokerConfig
) -> None:
    after = stored(tmp_path, "new", FOREIGN.sign("broker"), FOREIGN)
    assert refusal(before, after) is None
    words = "handshake failed: unable to get local issuer certificate"
    assert refusal(before, after, between_nodes=True) == words


def test_nodes_go_by_the_new_stores_when_the_old_ones_are_gone(
    tmp_path: Path, before: BrokerConfig
) -> None:
    held, after = own_certificate(before), stored(tmp_path, "new", LAB.sign("broker"))
    (tmp_path / "old.pem").unlink()
    check_stores(held, before, after, is_between_nodes=True)


def test_an_expired_certificate_is_refused_between_nodes(
    tmp_path: Path, before: BrokerConfig
) -> None:
    after = stored(tmp_path, "new", LAB.sign("broker", is_expired=True))
    assert refusal(before, after, between_nodes=True) == (
        "handshake failed: certificate has expired"
    )


def test_another_subject_and_a_missing_name_are_refused(
    tmp_path: Path, before: BrokerConfig
) -> None:
    assert refusal(before, stored(tmp_path, "new", LAB.sign("other"))) == (
        "Keystore DistinguishedName does not match:  existing={alias=kafka, DN=CN=broker, O=lab}, "
        "new={alias=kafka, DN=CN=other, O=lab}"
    )
    elsewhere = LAB.sign("broker", address="10.1.2.3")
    assert refusal(before, stored(tmp_path, "new", elsewhere)) == (
        "Keystore SubjectAltNames do not match:  "
        "existing={alias=kafka, SAN=[[2, localhost], [7, 127.0.0.1]]}, "
        "new={alias=kafka, SAN=[[2, localhost], [7, 10.1.2.3]]}"
    )


def test_a_store_that_cannot_be_read_is_named(tmp_path: Path, before: BrokerConfig) -> None:
    nowhere = str(tmp_path / "nowhere")
    assert refusal(before, replace(before, ssl_keystore_location=nowhere)) == (
        f"Failed to load PEM SSL keystore {nowhere}"
    )
    assert refusal(before, replace(before, ssl_truststore_location=nowhere)) == (
        f"Failed to load PEM SSL keystore {nowhere}"
    )
    as_pkcs12 = replace(before, ssl_keystore_type="PKCS12", ssl_keystore_password="secret")
    assert refusal(before, as_pkcs12) == (
        f"Failed to load SSL keystore {before.ssl_keystore_location} of type PKCS12"
    )


def test_a_key_of_another_certificate_is_refused(tmp_path: Path, before: BrokerConfig) -> None:
    mixed = Signed(LAB.sign("broker").certificate, LAB.sign("broker").key)
    after = stored(tmp_path, "new", mixed)
    assert refusal(before, after) == (
        f"Failed to load PEM SSL keystore {after.ssl_keystore_location}"
    )


def test_a_store_and_the_same_in_the_configuration_are_too_much(before: BrokerConfig) -> None:
    signed = LAB.sign("broker")
    inline = {"ssl_keystore_key": signed.key, "ssl_keystore_certificate_chain": signed.certificate}
    assert refusal(before, replace(before, **inline)) == (
        "Both SSL key store location and separate private key are specified."
    )
    alone = replace(before, ssl_keystore_location=None, ssl_keystore_key=signed.key)
    assert refusal(before, alone) == (
        "SSL private key is specified, but certificate chain is not specified."
    )
    assert refusal(before, replace(before, ssl_keystore_location=None)) == (
        "ssl.keystore.location: a listener of SSL needs it, or ssl.keystore.certificate.chain"
    )
    trusted = replace(before, ssl_truststore_certificates=LAB.certificate)
    assert refusal(before, trusted) == (
        "Both SSL trust store location and separate trust certificates are specified."
    )


def test_a_listener_without_a_trust_store_gets_none(before: BrokerConfig) -> None:
    assert refusal(replace(before, ssl_truststore_location=None), before) == (
        "Cannot add SSL truststore to an existing listener for which no truststore was configured."
    )
