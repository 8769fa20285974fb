"""Files for clients hold what each kind of client asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.asking.java_properties import parse_properties
from jbodlab.processes.client_files import client_files

SERVERS = ["127.0.0.1:1", "127.0.0.1:2"]
FILES = client_files("alice", "abc123", SERVERS, Path("/lab/ca.pem"))


@pytest.mark.parametrize("name", sorted(FILES))
def test_each_file_names_user_password_certificate_and_brokers(name: str) -> None:
    text = FILES[name]
    for wanted in ("alice", "abc123", "/lab/ca.pem", *SERVERS):
        assert wanted in text
    assert "{{" not in text


def test_properties_are_those_of_java() -> None:
    keys = parse_properties(FILES["alice.properties"])
    assert keys["bootstrap.servers"] == ",".join(SERVERS)
    assert keys["ssl.truststore.type"] == "PEM"
    assert keys["sasl.jaas.config"].endswith('required username="alice" password="abc123";')


def test_settings_of_kafka_python_are_python() -> None:
    namespace: dict[str, object] = {}
    exec(FILES["alice_kafka_python.py"], namespace)
    assert namespace["SETTINGS"] == {
        "bootstrap_servers": SERVERS,
        "security_protocol": "SASL_SSL",
        "ssl_cafile": "/lab/ca.pem",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "alice",
        "sasl_plain_password": "abc123",
    }
