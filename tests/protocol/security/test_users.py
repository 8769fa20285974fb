"""Users of SASL as the configuration names them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from protocol.configs.broker import BrokerConfig
from protocol.configs.parsing import broker_config
from protocol.errors import KafkaError
from protocol.security.sasl import (
    Authenticated,
    AuthenticationError,
    InvalidTokenError,
    Mechanism,
    plain_token,
)
from protocol.security.sasl_client import Login
from protocol.security.scram import ScramClient, credential_of, salted_password
from protocol.security.tls import SecurityConfigError
from protocol.security.users import login_of, mechanisms_of, users_of

MECHANISM = "SCRAM-SHA-256"
MODULES = "org.apache.kafka.common.security"
SCRAM_LOGIN = f'{MODULES}.scram.ScramLoginModule required username="node" password="n";'


def test_users_are_read_and_nodes_are_one_of_them() -> None:
    config = BrokerConfig(jbodlab_sasl_users="broker:b:1, alice:a=2")
    assert users_of(config) == {"broker": "b:1", "alice": "a=2"}
    assert login_of(config) == Login("SCRAM-SHA-512", "broker", "b:1")
    assert "b:1" not in repr(login_of(config))
    assert list(mechanisms_of(config, int)) == ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


@pytest.mark.parametrize("text", [None, "", "alice", "alice:", ":secret"])
def test_users_that_cannot_be_read_are_refused_without_showing_them(text: str | None) -> None:
    with pytest.raises(SecurityConfigError, match=r"jbodlab\.sasl\.users") as raised:
        users_of(BrokerConfig(jbodlab_sasl_users=text))
    assert "secret" not in str(raised.value)


def test_nodes_must_be_a_user() -> None:
    with pytest.raises(SecurityConfigError, match="broker is none of jbodlab"):
        login_of(BrokerConfig(jbodlab_sasl_users="alice:secret"))


def test_jaas_of_a_listener_has_more_users_of_plain_and_its_own_login_of_nodes() -> None:
    line = f'{MODULES}.plain.PlainLoginModule required username=b password=b user_b=b user_a="2";'
    config = BrokerConfig(jbodlab_sasl_users="a:1,c:3", plain_sasl_jaas_config=line)
    plain = replace(config, sasl_mechanism_inter_broker_protocol="PLAIN")
    assert login_of(plain) == Login("PLAIN", "b", "b")
    plain_server = mechanisms_of(config, int)["PLAIN"]
    for user, password in (("a", "2"), ("b", "b"), ("c", "3")):
        assert plain_server().evaluate(plain_token(user, password)) == Authenticated(user)
    with pytest.raises(AuthenticationError):
        plain_server().evaluate(plain_token("a", "1"))
    with pytest.raises(SecurityConfigError, match=r"broker is none of .* has no username for"):
        login_of(config)


def test_jaas_alone_is_enough_and_nobody_stores_over_the_nodes_login() -> None:
    config = BrokerConfig(
        scram_sha_256_sasl_jaas_config=SCRAM_LOGIN, sasl_mechanism_inter_broker_protocol=MECHANISM
    )
    assert users_of(config) == {}
    assert login_of(config) == Login(MECHANISM, "node", "n")
    stored = credential_of(MECHANISM, salted_password(MECHANISM, "new", b"s", 4096), b"s", 4096)
    mechanisms = mechanisms_of(config, int, lambda _mechanism, _user: stored)
    assert authenticates(mechanisms[MECHANISM], "node", "n")
    assert not authenticates(mechanisms[MECHANISM], "node", "new")
    assert authenticates(mechanisms[MECHANISM], "alice", "new")
    assert not authenticates(mechanisms["SCRAM-SHA-512"], "node", "n")


def test_a_stored_credential_wins_over_the_file_but_for_the_nodes_own_user() -> None:
    stored = credential_of(MECHANISM, salted_password(MECHANISM, "new", b"s", 4096), b"s", 4096)
    config = BrokerConfig(jbodlab_sasl_users="broker:old,alice:old,file:old")
    mechanisms = mechanisms_of(
        config, int, lambda _, user: stored if user in ("alice", "bob", "broker") else None
    )

    server = mechanisms[MECHANISM]
    users = ("alice", "bob", "broker", "file")
    assert [user for user in users if authenticates(server, user, "new")] == ["alice", "bob"]
    assert [user for user in users if authenticates(server, user, "old")] == ["broker", "file"]


def authenticates(make: Callable[[], Mechanism], user: str, password: str) -> bool:
    server, client = make(), ScramClient(MECHANISM, user, password, "nonce")
    try:
        challenge = server.evaluate(client.first())
        assert isinstance(challenge, bytes)
        proof = client.evaluate(challenge)
        assert proof is not None
        server.evaluate(proof)
    except InvalidTokenError:
        return False
    return True


def test_gssapi_is_refused_with_a_sentence() -> None:
    with pytest.raises(
        KafkaError, match=r"GSSAPI \(Kerberos\) is not spoken here; there are PLAIN"
    ):
        broker_config({"sasl.enabled.mechanisms": "PLAIN,GSSAPI"})
    with pytest.raises(KafkaError, match="String must be one of: PLAIN"):
        broker_config({"sasl.enabled.mechanisms": "NTLM"})
    for name, says in (("GSSAPI", "is not spoken here; brokers"), ("OAUTHBEARER", "for clients")):
        with pytest.raises(KafkaError, match=says):
            broker_config({"sasl.mechanism.inter.broker.protocol": name})
