"""What is wrong with listeners is told with its place in the cluster file."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocol.cluster_file.spec import ClusterSpec, SpecError, parse_cluster_spec

FILE = """
cluster_id: c
controller: {{ port: 9000 }}
configs: {{ {of_all} }}
brokers:
  - {{ id: 1, port: 9092, log_dirs: [{{ path: d }}], configs: {{ {own} }} }}
  - {{ id: 2, port: 9192, log_dirs: [{{ path: e }}] }}
{more}
"""
MAP = "listener.security.protocol.map: 'A:PLAINTEXT,B:SASL_SSL,PLAINTEXT:PLAINTEXT'"
TWO = "listeners: 'A://:9092,B://:9095'"


def parsed(of_all: str = "", own: str = "", more: str = "") -> ClusterSpec:
    text = FILE.format(of_all=of_all, own=own, more=more)
    return parse_cluster_spec(text, base_dir=Path("/labs"), source="test")


def mistakes(of_all: str = "", own: str = "") -> str:
    with pytest.raises(SpecError) as raised:
        parsed(of_all, own)
    return "\n".join(raised.value.mistakes)


@pytest.mark.parametrize(
    ("of_all", "own", "said"),
    [
        ("", "listeners: 'X://:9092'", "brokers[0].configs.listeners: no security protocol"),
        ("", "listeners: 'PLAINTEXT://:9093'", "must be the port of one of the listeners"),
        ("", "listeners: 'PLAINTEXT://:9092,SSL://:9000'", "9000 is taken by controller.port"),
        (MAP, f"{TWO}, inter.broker.listener.name: B", "the controller speaks the same protocol"),
        (
            MAP,
            f"{TWO}, inter.broker.listener.name: A, control.plane.listener.name: B",
            "control.plane.listener.name, inter.broker.listener.name or security.inter.broker",
        ),
    ],
)
def test_each_mistake_has_its_place(of_all: str, own: str, said: str) -> None:
    assert said in mistakes(of_all, own)


def test_clients_that_are_known_need_a_controller_that_knows_brokers() -> None:
    said = mistakes(MAP + ", inter.broker.listener.name: A", TWO)
    assert "brokers[0].configs.listeners: B speaks SASL_SSL, but controller and brokers" in said
    with_zookeeper = "zookeeper: { connect: 'zk:2181' }"
    parsed(MAP, f"{TWO}, inter.broker.listener.name: A", with_zookeeper)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("listener.name.x.ssl.client.auth", ": X is none of the listeners B, A, PLAINTEXT"),
        ("listener.name.b.log.dirs", ": unknown configuration"),
        ("listener.name.B.ssl.client.auth", ": unknown configuration"),
        ("listener.name.b.ssl.client.auth", ": String must be one of: none, requested, required"),
    ],
)
def test_keys_of_one_listener_are_checked_as_those_of_all(name: str, said: str) -> None:
    own = f"{TWO}, inter.broker.listener.name: B"
    assert f"brokers[0].configs.{name}{said}" in mistakes(MAP, f"{own}, {name}: never")


def test_files_of_one_listener_lie_beside_the_cluster_file_too() -> None:
    secured = "secure: true"
    name = "listener.name.sasl_ssl.ssl.keystore.location"
    spec = parsed(f"{name}: own.pem", more=secured)
    assert spec.brokers[1].configs[name] == "/labs/own.pem"
    assert spec.brokers[1].configs["ssl.keystore.location"] == "/labs/data/secure/node.pem"


def test_a_listener_of_the_control_plane_is_what_the_controller_connects_to() -> None:
    of_all = f"{MAP}, inter.broker.listener.name: A, control.plane.listener.name: b"
    text = FILE.replace(
        "log_dirs: [{{ path: e }}]", "log_dirs: [{{ path: e }}], configs: {{{two}}}"
    )
    two = "listeners: 'A://:9192,B://:9195'"
    spec = parse_cluster_spec(
        text.format(of_all=of_all, own=TWO, two=two, more=""), base_dir=Path("/labs"), source="test"
    )
    assert [each.control_listener.port for each in spec.brokers] == [9095, 9195]
    assert [each.listeners[0].port for each in spec.brokers] == [9092, 9192]
    assert [each.control_listener.port for each in parsed().brokers] == [9092, 9192]
