"""Keys of TLS with ZooKeeper, by Kafka's names and with its defaults."""

from __future__ import annotations

import pytest

from protocol.configs.broker import BROKER_KEYS
from protocol.configs.parsing import broker_config
from protocol.errors import KafkaError


def test_kafkas_name_of_the_socket_has_a_capital() -> None:
    netty = "org.apache.zookeeper.ClientCnxnSocketNetty"
    assert broker_config({"zookeeper.clientCnxnSocket": netty}).zookeeper_clientCnxnSocket == netty
    with pytest.raises(KafkaError, match="String must be one of"):
        broker_config({"zookeeper.clientCnxnSocket": "my.Socket"})


def test_passwords_of_stores_are_told_nobody() -> None:
    names = [name for name in BROKER_KEYS if name.startswith("zookeeper.ssl.")]
    hidden = [name for name in names if BROKER_KEYS[name].sensitive]
    assert hidden == ["zookeeper.ssl.keystore.password", "zookeeper.ssl.truststore.password"]


@pytest.mark.parametrize("name", ["zookeeper.ssl.protocol", "zookeeper.ssl.enabled.protocols"])
def test_versions_that_nobody_should_speak_are_refused(name: str) -> None:
    assert broker_config({name: "TLSv1.3"})
    with pytest.raises(KafkaError, match=r"TLSv1\.2, TLSv1\.3"):
        broker_config({name: "TLSv1.1"})
