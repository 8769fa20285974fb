"""Kafka's keys for listeners: what they make, and one sentence for what makes none."""

from __future__ import annotations

import pytest

from protocol.security.listeners import (
    ControlPlane,
    Listener,
    ListenersError,
    SecurityProtocol,
    configs_at,
    configs_of_control_plane,
    control_plane_of,
    listeners_of,
    protocol_between_nodes,
)

OWN = Listener("PLAINTEXT", SecurityProtocol.PLAINTEXT, "127.0.0.1", 9092, "kafka", 9192)
TWO = {
    "listeners": "clients://:9093,INSIDE://10.0.0.1:9094",
    "advertised.listeners": "CLIENTS://lab.example:19093",
    "listener.security.protocol.map": "clients:SASL_SSL,inside:PLAINTEXT",
    "inter.broker.listener.name": "inside",
}


def test_without_listeners_a_broker_has_the_one_of_its_own_words() -> None:
    assert listeners_of({}, OWN) == (OWN,)


def test_the_listener_of_the_nodes_comes_first() -> None:
    inside, clients = listeners_of(TWO, OWN)
    assert inside == ("INSIDE", SecurityProtocol.PLAINTEXT, "10.0.0.1", 9094, "10.0.0.1", 9094)
    assert clients == (
        "CLIENTS", SecurityProtocol.SASL_SSL, "0.0.0.0", 9093, "lab.example", 19093,
    )  # fmt: skip
    assert clients.protocol.is_tls
    assert clients.protocol.is_sasl
    assert protocol_between_nodes(TWO) is SecurityProtocol.PLAINTEXT


def test_a_listener_that_binds_everywhere_is_advertised_by_the_brokers_own_host() -> None:
    (made,) = listeners_of({"listeners": "PLAINTEXT://:9095"}, OWN)
    assert (made.bind_host, made.advertised_host, made.advertised_port) == (
        "0.0.0.0",
        "kafka",
        9095,
    )


def test_nodes_speak_by_the_protocol_that_is_named() -> None:
    configs = {
        "listeners": "PLAINTEXT://a:1,SSL://a:2",
        "security.inter.broker.protocol": "SSL",
    }
    assert [each.name for each in listeners_of(configs, OWN)] == ["SSL", "PLAINTEXT"]
    assert protocol_between_nodes(configs) is SecurityProtocol.SSL
    assert protocol_between_nodes({}) is SecurityProtocol.PLAINTEXT


def test_the_control_plane_is_that_of_the_brokers_unless_it_is_named() -> None:
    assert control_plane_of(TWO) == ControlPlane(None, SecurityProtocol.PLAINTEXT)
    named = {**TWO, "control.plane.listener.name": "clients"}
    assert control_plane_of(named) == ControlPlane("CLIENTS", SecurityProtocol.SASL_SSL)
    assert listeners_of(named, OWN) == listeners_of(TWO, OWN)


def test_sasl_ssl_asks_for_certificates_by_its_own_word_alone() -> None:
    configs = {**TWO, "ssl.client.auth": "required"}
    asked = {
        protocol: configs_at("CLIENTS", protocol, configs)["ssl.client.auth"]
        for protocol in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)
    }
    assert asked == {SecurityProtocol.SSL: "required", SecurityProtocol.SASL_SSL: "none"}
    own = {**configs, "listener.name.clients.ssl.client.auth": "requested"}
    at_clients = configs_at("CLIENTS", SecurityProtocol.SASL_SSL, own)
    assert at_clients["ssl.client.auth"] == "requested"


def test_the_control_plane_goes_by_the_keys_of_its_listener() -> None:
    own = {**TWO, "listener.name.inside.ssl.client.auth": "1", "ssl.client.auth": "0"}
    own["listener.name.clients.ssl.client.auth"] = "2"
    own["listener.name.plaintext.ssl.client.auth"] = "3"
    assert configs_of_control_plane(own)["ssl.client.auth"] == "1"
    named = {**own, "control.plane.listener.name": "clients"}
    assert configs_of_control_plane(named)["ssl.client.auth"] == "2"
    for name in ("inter.broker.listener.name", "listener.security.protocol.map"):
        del own[name]
    assert configs_of_control_plane(own)["ssl.client.auth"] == "3"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"listeners": "9092"}, "listeners: expected NAME://host:port, got '9092'"),
        ({"listeners": "A://h:70000"}, "listeners: expected NAME://host:port"),
        ({"listeners": "A://h:1,a://h:2"}, "listeners: each listener must have a different name"),
        ({"listeners": "A://h:1,B://h:1"}, "listeners: each listener must have a different port"),
        ({"listeners": "OTHER://h:1"}, "listeners: no security protocol is given to OTHER"),
        ({"advertised.listeners": "X://h:1"}, "advertised.listeners: X is none of the listeners"),
        ({"advertised.listeners": "CLIENTS://0.0.0.0:1"}, "nonroutable meta-address"),
        ({"listener.security.protocol.map": "CLIENTS"}, "expected NAME:PROTOCOL, got 'CLIENTS'"),
        ({"listener.security.protocol.map": "CLIENTS:TLS"}, "must be one of PLAINTEXT, SSL"),
        ({"inter.broker.listener.name": "Z"}, "Z is none of the listeners CLIENTS, INSIDE"),
        ({"control.plane.listener.name": "Z"}, "control.plane.listener.name: Z is none of the"),
        ({"control.plane.listener.name": "inside"}, "is INSIDE, by which brokers ask each other"),
        ({"security.inter.broker.protocol": "SSL"}, "only one of it and security.inter.broker"),
    ],
)
def test_what_makes_no_listeners_is_told_in_one_sentence(
    changed: dict[str, str], said: str
) -> None:
    with pytest.raises(ListenersError) as raised:
        listeners_of({**TWO, **changed}, OWN)
    assert said in str(raised.value)


def test_a_protocol_that_no_listener_speaks_is_a_mistake() -> None:
    configs = {"listeners": "SSL://a:2"}
    with pytest.raises(ListenersError, match="is PLAINTEXT, which none of the listeners SSL"):
        listeners_of(configs, OWN)
    with pytest.raises(ListenersError, match="has no protocol for the listener X"):
        protocol_between_nodes({"inter.broker.listener.name": "x"})
