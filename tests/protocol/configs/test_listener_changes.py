"""Keys of listeners that a running broker takes, and the words of a 3.9.2 broker for the others."""

from __future__ import annotations

import pytest

from protocol.configs.changes import check_broker
from protocol.configs.listener_changes import passwords_in, refuse_passwords_in_zookeeper
from protocol.errors import ErrorCode, KafkaError

L = "listener.name.clients."
EXISTING = (
    "Configs cannot be updated dynamically for existing listener ListenerName(CLIENTS), restart "
    "broker or create a new listener for update"
)
BY_LISTENER = (
    "These security configs can be dynamically updated only per-listener using the listener prefix"
)
AT_ALL = "Cannot update these configs at default cluster level, broker id must be specified"


def refusal(changes: dict[str, str | None], *, is_default: bool = False) -> str | None:
    try:
        check_broker(changes, static={}, is_default=is_default)
    except KafkaError as error:
        return error.message if error.code is ErrorCode.INVALID_REQUEST else repr(error)
    return None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (f"{L}ssl.keystore.location", "/new.pem"),
        (f"{L}ssl.truststore.certificates", "pem"),
        (f"{L}ssl.key.password", "secret"),
        (f"{L}max.connections", "5"),
        (f"{L}max.connection.creation.rate", "5"),
        ("max.connections", "5"),
        ("max.connections.per.ip", "5"),
        ("max.connections.per.ip.overrides", "10.0.0.1:5,::1:6"),
        ("max.connection.creation.rate", "5"),
        ("listener.name.nowhere.ssl.keystore.location", "/new.pem"),
    ],
)
def test_stores_and_limits_change_while_a_broker_runs(name: str, text: str) -> None:
    assert refusal({name: text}) is None
    assert refusal({name: None}) is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (f"{L}ssl.client.auth", EXISTING),
        (f"{L}sasl.enabled.mechanisms", EXISTING),
        (f"{L}connections.max.reauth.ms", EXISTING),
        ("ssl.keystore.location", f"{BY_LISTENER}: HashSet(ssl.keystore.location)"),
        ("ssl.client.auth", "Cannot update these configs dynamically: Set(ssl.client.auth)"),
        (f"{L}nonsense", f"Unknown broker config name: {L}nonsense"),
        (f"{L}max.connections.per.ip", f"Unknown broker config name: {L}max.connections.per.ip"),
    ],
)
def test_the_rest_stays_until_a_restart(name: str, words: str) -> None:
    found = refusal({name: "5"})
    assert found is not None
    assert found.partition(" (did you mean")[0] == words


def test_stores_are_set_for_one_broker_and_limits_for_all() -> None:
    name = f"{L}ssl.keystore.location"
    assert refusal({name: "/a"}, is_default=True) == f"{AT_ALL}: Set({name})"
    assert refusal({f"{L}max.connections": "5"}, is_default=True) is None


@pytest.mark.parametrize("key", ["max.connections", "max.connection.creation.rate"])
@pytest.mark.parametrize("prefix", ["", L])
def test_nobody_can_be_let_in_by_no_limit(key: str, prefix: str) -> None:
    assert refusal({prefix + key: "0"}) == f"Invalid {key} 0"
    words = f"Invalid value x for configuration {key}: Not a number of type INT"
    assert refusal({prefix + key: "x"}) == words


def test_passwords_are_found_and_do_not_go_to_zookeeper() -> None:
    changes = {f"{L}ssl.key.password": "secret", f"{L}ssl.keystore.key": None, "no.key": "x"}
    assert passwords_in(changes) == [f"{L}ssl.key.password"]
    with pytest.raises(KafkaError, match=r"ssl.key.password is a password, which ZooKeeper would"):
        refuse_passwords_in_zookeeper(changes)
    refuse_passwords_in_zookeeper({f"{L}ssl.keystore.location": "/a"})
