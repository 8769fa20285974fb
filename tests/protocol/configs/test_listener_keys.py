"""Keys of one listener hold there alone, before those of all."""

from __future__ import annotations

from protocol.configs.listener_keys import (
    PER_LISTENER,
    columns_of_listeners,
    key_of_listener,
    of_all_listeners,
    of_listener,
)
from protocol.configs.types import ConfigType

OWN = "listener.name.clients.ssl.keystore.key"
CONFIGS = {
    "ssl.client.auth": "none",
    "listener.name.clients.ssl.client.auth": "required",
    "listener.name.nodes.ssl.client.auth": "requested",
    "log.dirs": "d",
}


def test_the_listener_and_its_key_are_read_in_kafkas_way() -> None:
    assert key_of_listener(OWN) == ("CLIENTS", "ssl.keystore.key")
    for other in (
        "ssl.client.auth",
        "listener.name.clients",
        "listener.name.Clients.ssl.client.auth",
    ):
        assert key_of_listener(other) is None


def test_its_own_keys_come_before_those_of_all() -> None:
    assert of_listener(CONFIGS, "CLIENTS") == {"ssl.client.auth": "required", "log.dirs": "d"}
    assert of_listener(CONFIGS, "OTHER") == {"ssl.client.auth": "none", "log.dirs": "d"}
    assert of_all_listeners(CONFIGS) == of_listener(CONFIGS, "OTHER")


def test_only_what_a_listener_reads_can_be_its_own() -> None:
    names = [OWN, "listener.name.clients.log.dirs", "listener.name.clients.nothing", "log.dirs"]
    found = columns_of_listeners(names)
    assert list(found) == [OWN]
    assert (found[OWN].name, found[OWN].type) == (OWN, ConfigType.PASSWORD)
    assert found[OWN].sensitive
    assert "sasl.enabled.mechanisms" in PER_LISTENER
    assert "sasl.mechanism.inter.broker.protocol" not in PER_LISTENER
