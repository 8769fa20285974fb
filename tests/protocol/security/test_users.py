"""Users of SASL as the configuration names them."""

from __future__ import annotations

import pytest

from protocol.configs.broker import BrokerConfig
from protocol.configs.parsing import broker_config
from protocol.errors import KafkaError
from protocol.security.sasl import InvalidTokenError
from protocol.security.sasl_client import Login
from protocol.security.scram import ScramClient, credential_of, salted_password
from protocol.security.tls import SecurityConfigError
from protocol.security.users import login_of, mechanisms_of, users_of

MECHANISM = "SCRAM-SHA-256"


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


def test_a_stored_credential_wins_over_the_file_but_for_the_nodes_own_user() -> None:
    stored = credential_of(MECHANISM, salted_password(MECHANISM, "new", b"s", 4096), b"s", 4096)
    config = BrokerConfig(jbodlab_sasl_users="broker:old,alice:old,file:old")
    mechanisms = mechanisms_of(
        config, int, lambda _, user: stored if user in ("alice", "bob", "broker") else None
    )

    def authenticates(user: str, password: str) -> bool:
        server, client = mechanisms[MECHANISM](), ScramClient(MECHANISM, user, password, "nonce")
        try:
            challenge = server.evaluate(client.first())
            assert isinstance(challenge, bytes)
            proof = client.evaluate(challenge)
            assert proof is not None
            server.evaluate(proof)
        except InvalidTokenError:
            return False
        return True

    assert [user for user in ("alice", "bob", "broker", "file") if authenticates(user, "new")] == [
        "alice",
        "bob",
    ]
    assert [user for user in ("alice", "bob", "broker", "file") if authenticates(user, "old")] == [
        "broker",
        "file",
    ]


def test_gssapi_is_refused_with_a_sentence() -> None:
    with pytest.raises(
        KafkaError, match=r"GSSAPI \(Kerberos\) is not spoken here; there are PLAIN"
    ):
        broker_config({"sasl.enabled.mechanisms": "PLAIN,GSSAPI"})
    with pytest.raises(KafkaError, match="String must be one of: PLAIN"):
        broker_config({"sasl.enabled.mechanisms": "NTLM"})
