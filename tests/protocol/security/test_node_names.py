"""Who the nodes are to each other, by SASL and by their certificate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.certificates import Authority
from protocol.configs.broker import BrokerConfig
from protocol.security.listeners import SecurityProtocol
from protocol.security.node_names import node_principals
from protocol.security.tls import SecurityConfigError

OWN = Authority().sign("broker")


def by_certificate(rules: str = "DEFAULT", chain: str = OWN.certificate) -> BrokerConfig:
    return BrokerConfig(
        ssl_keystore_certificate_chain=chain,
        ssl_keystore_key=OWN.key,
        ssl_principal_mapping_rules=rules,
    )


def test_at_plaintext_nobody_is_told_from_anybody() -> None:
    assert node_principals(SecurityProtocol.PLAINTEXT, BrokerConfig()) is None


def test_by_sasl_it_is_their_user_and_super_users_that_are_somebody() -> None:
    config = BrokerConfig(
        jbodlab_sasl_inter_broker_user="node", super_users="User:admin;User:ANONYMOUS"
    )
    found = node_principals(SecurityProtocol.SASL_SSL, config)
    assert found == {"User:node", "User:admin"}
    jaas = replace(
        config,
        scram_sha_512_sasl_jaas_config="org.apache.kafka.common.security.scram.ScramLoginModule "
        'required username="other" password="secret";',
    )
    assert node_principals(SecurityProtocol.SASL_SSL, jaas) == {"User:other", "User:admin"}


def test_by_ssl_it_is_whom_their_certificate_names() -> None:
    mapped = node_principals(SecurityProtocol.SSL, by_certificate("RULE:^CN=(.*?),.*$/$1/,DEFAULT"))
    assert mapped == {"User:broker"}
    whole = node_principals(SecurityProtocol.SSL, by_certificate())
    assert whole is not None
    assert [each.startswith("User:CN=broker,") for each in whole] == [True]
    assert node_principals(SecurityProtocol.SSL, by_certificate("RULE:^X(.*)$/$1/")) == frozenset()


def test_without_a_certificate_there_is_nobody_and_a_broken_one_is_named() -> None:
    assert node_principals(SecurityProtocol.SSL, BrokerConfig()) == frozenset()
    with pytest.raises(SecurityConfigError, match=r"certificate\.chain: has no certificate"):
        node_principals(SecurityProtocol.SSL, by_certificate(chain="nothing"))
