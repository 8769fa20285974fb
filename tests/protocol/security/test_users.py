"""Users of SASL as the configuration names them."""

from __future__ import annotations

import pytest

from protocol.configs.broker import BrokerConfig
from protocol.security.sasl_client import Login
from protocol.security.tls import SecurityConfigError
from protocol.security.users import login_of, mechanisms_of, users_of


def test_users_are_read_and_nodes_are_one_of_them() -> None:
    config = BrokerConfig(jbodlab_sasl_users="broker:b:1, alice:a=2")
    assert users_of(config) == {"broker": "b:1", "alice": "a=2"}
    assert login_of(config) == Login("SCRAM-SHA-512", "broker", "b:1")
    assert "b:1" not in repr(login_of(config))
    assert list(mechanisms_of(config)) == ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


@pytest.mark.parametrize("text", [None, "", "alice", "alice:", ":secret"])
def test_users_that_cannot_be_read_are_refused_without_showing_them(text: str | None) -> None:
    with pytest.raises(SecurityConfigError, match=r"jbodlab\.sasl\.users") as raised:
        users_of(BrokerConfig(jbodlab_sasl_users=text))
    assert "secret" not in str(raised.value)


def test_nodes_must_be_a_user() -> None:
    with pytest.raises(SecurityConfigError, match="broker is none of jbodlab"):
        login_of(BrokerConfig(jbodlab_sasl_users="alice:secret"))
