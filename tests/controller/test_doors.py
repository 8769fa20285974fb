"""The controller's port lets nodes in, by the protocol of the control plane, and nobody else."""

from __future__ import annotations

import ssl

from benchmarks.certificates import Authority
from controller.core.state import ClusterState
from controller.doors import controller_door, who_may_ask
from protocol.connection import Peer
from protocol.principal import ANONYMOUS, Principal

AUTHORITY = Authority()
OWN = AUTHORITY.sign("broker")
SSL = {
    "security.inter.broker.protocol": "SSL",
    "ssl.keystore.certificate.chain": OWN.certificate,
    "ssl.keystore.key": OWN.key,
    "ssl.truststore.certificates": AUTHORITY.certificate,
    "ssl.principal.mapping.rules": "RULE:^CN=(.*?),.*$/$1/,DEFAULT",
}
CONTROL = {
    "listener.security.protocol.map": "CONTROL:SASL_PLAINTEXT,CLIENTS:PLAINTEXT",
    "inter.broker.listener.name": "CLIENTS",
    "jbodlab.sasl.users": "broker:secret,alice:sesame",
}


def peer(name: str) -> Peer:
    return Peer("127.0.0.1", 1, 1, "PLAINTEXT", Principal(name))


def may(configs: dict[str, str], name: str) -> bool:
    return who_may_ask(configs, ClusterState)(peer(name))


def test_by_ssl_nobody_comes_in_without_a_certificate() -> None:
    tls = controller_door({**SSL, "ssl.client.auth": "none"}, int).tls
    assert tls is not None
    assert tls.verify_mode is ssl.CERT_REQUIRED


def test_by_ssl_the_name_of_the_nodes_own_certificate_may_ask() -> None:
    assert may(SSL, "broker")
    assert not may(SSL, "alice")
    assert not may(SSL, ANONYMOUS.name)
    assert may({**SSL, "super.users": "User:second"}, "second")


def test_the_control_plane_may_have_a_listener_and_a_protocol_of_its_own() -> None:
    assert controller_door(CONTROL, int).admit is None
    assert may(CONTROL, ANONYMOUS.name)
    own = {**CONTROL, "control.plane.listener.name": "CONTROL"}
    assert controller_door(own, int).admit is not None
    assert may(own, "broker")
    assert not may(own, "alice")
