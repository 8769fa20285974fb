"""``secure: true`` in a cluster file."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocol.cluster_file.dump import dump_cluster_spec
from protocol.cluster_file.secure import secure_folder
from protocol.cluster_file.spec import SpecError, parse_cluster_spec
from protocol.security.listeners import Listener, SecurityProtocol, protocol_between_nodes

FILE = """
cluster_id: lab
controller: {{ port: 9090 }}
brokers:
  - {{ id: 1, port: 9092, log_dirs: [{{ path: d1 }}], configs: {{ {own} }} }}
  - {{ id: 2, port: 9093, bind_host: "::1", advertised_host: b2.example, advertised_port: 29093,
      log_dirs: [{{ path: d2 }}] }}
configs: {{ {of_all} }}
secure: true
"""
BASE = Path("/labs/one")


def parsed(own: str = "", of_all: str = "") -> object:
    return parse_cluster_spec(FILE.format(own=own, of_all=of_all), base_dir=BASE, source="test")


def test_nobody_comes_in_but_by_sasl_ssl() -> None:
    spec = parse_cluster_spec(FILE.format(own="", of_all=""), base_dir=BASE, source="test")
    protocol = SecurityProtocol.SASL_SSL
    listeners = [each.listeners for each in spec.brokers]
    assert listeners == [
        (Listener("SASL_SSL", protocol, "127.0.0.1", 9092, "127.0.0.1", 9092),),
        (Listener("SASL_SSL", protocol, "::1", 9093, "b2.example", 29093),),
    ]
    assert protocol_between_nodes(spec.configs) is protocol
    assert secure_folder(spec.configs) == "/labs/one/data/secure"
    assert "authorizer.class.name" in spec.brokers[1].configs


@pytest.mark.parametrize(
    ("source", "folder"),
    [
        ("/labs/one/cluster.yaml", "/labs/one/data/secure"),
        ("/labs/one/other.yaml", "/labs/one/data/secure-other"),
        ("two-b.yml", "/labs/one/data/secure-two-b"),
    ],
)
def test_each_cluster_file_of_a_folder_has_keys_and_users_of_its_own(
    source: str, folder: str
) -> None:
    spec = parse_cluster_spec(FILE.format(own="", of_all=""), base_dir=BASE, source=source)
    assert secure_folder(spec.configs) == folder


def test_what_the_file_says_itself_wins() -> None:
    text = FILE.format(own="super.users: User:own", of_all="sasl.enabled.mechanisms: PLAIN")
    spec = parse_cluster_spec(text, base_dir=BASE, source="test")
    assert spec.brokers[0].configs["super.users"] == "User:own"
    assert spec.brokers[0].configs["sasl.enabled.mechanisms"] == "PLAIN"
    assert spec.configs["super.users"] == "User:broker;User:admin"


def test_a_dumped_file_loads_to_the_same_cluster() -> None:
    spec = parse_cluster_spec(FILE.format(own="", of_all=""), base_dir=BASE, source="test")
    again = parse_cluster_spec(dump_cluster_spec(spec), base_dir=Path("/other"), source="test")
    assert again == spec


@pytest.mark.parametrize(
    ("own", "of_all", "place"),
    [
        ("listeners: 'PLAINTEXT://:9092'", "", r"brokers\[0\]\.configs\.listeners"),
        ("", "security.inter.broker.protocol: PLAINTEXT", "configs.security.inter.broker.protocol"),
    ],
)
def test_what_secure_sets_itself_cannot_be_set(own: str, of_all: str, place: str) -> None:
    with pytest.raises(SpecError, match=f"{place}: is set by `secure: true`"):
        parsed(own, of_all)


def test_an_open_cluster_has_no_folder() -> None:
    assert secure_folder({}) is None
    assert secure_folder({"jbodlab.sasl.users.location": "/labs/users"}) is None
