"""JAAS of one listener has users of PLAIN and the login of brokers; what is not read is refused."""

from __future__ import annotations

import re

import pytest

from protocol.configs.broker import BrokerConfig
from protocol.configs.listener_keys import KEYS_OF_ALL, columns_of_listeners
from protocol.configs.parsing import broker_config, config_mistakes
from protocol.configs.sasl_jaas import KEYS, why_unknown

MODULES = "org.apache.kafka.common.security"
PLAIN = f"{MODULES}.plain.PlainLoginModule"
SCRAM = f"{MODULES}.scram.ScramLoginModule"
OAUTHBEARER = f"{MODULES}.oauthbearer.OAuthBearerLoginModule"
LOGIN = 'username="broker" password="secret"'


def mistakes(key: str, text: str) -> list[str]:
    name = f"listener.name.clients.{key}"
    columns = {**KEYS_OF_ALL, **columns_of_listeners([name])}
    return [each.text for each in config_mistakes(columns, {name: text})]


def test_plain_has_users_and_scram_the_brokers() -> None:
    config = broker_config(
        {
            "plain.sasl.jaas.config": f'{PLAIN} required {LOGIN} user_broker="secret" user_a="b";',
            "scram-sha-512.sasl.jaas.config": f"{SCRAM} required {LOGIN};",
            "oauthbearer.sasl.jaas.config": f"{OAUTHBEARER} required;",
        }
    )
    assert config.has_jaas
    assert config.jaas_users("PLAIN") == {"broker": "secret", "a": "b"}
    assert config.jaas_users("SCRAM-SHA-512") == {"broker": "secret"}
    assert config.jaas_users("SCRAM-SHA-256") == {}
    assert config.jaas_options("PLAIN")["username"] == "broker"


def test_tokens_alone_have_no_users() -> None:
    text = f'{OAUTHBEARER} required unsecuredLoginStringClaim_sub="broker";'
    assert mistakes("oauthbearer.sasl.jaas.config", text) == []
    assert not BrokerConfig(oauthbearer_sasl_jaas_config=text).has_jaas


@pytest.mark.parametrize(
    ("key", "text", "says"),
    [
        ("plain", f"{PLAIN} required {LOGIN}", "must be `.*PlainLoginModule required username="),
        ("plain", f"{SCRAM} required {LOGIN};", "must be `.*PlainLoginModule required"),
        ("plain", f"{PLAIN} required {LOGIN};", "user_broker is missing: brokers log in at each"),
        ("plain", f'{PLAIN} required user_a="";', "user_a has an empty password"),
        ("plain", f'{PLAIN} required username="secret";', "come together"),
        ("scram-sha-256", f'{SCRAM} required user_a="secret";', "stored by kafka-configs"),
        ("oauthbearer", f"{OAUTHBEARER} required unsecuredValidatorScope=x;", "Scope is not read"),
    ],
)
def test_what_is_not_read_is_refused_without_showing_a_password(
    key: str, text: str, says: str
) -> None:
    (found,) = mistakes(f"{key}.sasl.jaas.config", text)
    assert found.endswith(", is [hidden]")
    assert "secret" not in found
    assert re.search(says, found)


@pytest.mark.parametrize("name", ["sasl.jaas.config", *KEYS])
def test_jaas_of_no_listener_is_refused_with_the_key_to_set(name: str) -> None:
    (found,) = config_mistakes(KEYS_OF_ALL, {name: "x"})
    assert "expected listener.name.LISTENER.MECHANISM.sasl.jaas.config" in found.text


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("sasl.kerberos.service.name", "GSSAPI (Kerberos) is not spoken here"),
        ("listener.name.a.gssapi.sasl.jaas.config", "GSSAPI (Kerberos) is not spoken here"),
        ("listener.name.a.plain.sasl.server.callback.handler.class", "no class of Java is loaded"),
    ],
)
def test_keys_that_are_none_here_are_refused_with_what_to_do(name: str, says: str) -> None:
    assert says in (why_unknown(name) or "")
    assert why_unknown("log.dirs") is None
