"""What of ``zookeeper:`` and of the configs of its TLS does not go together."""

from __future__ import annotations

import pytest

from tests.protocol.cluster_file.test_spec import ALIKE, BESIDE, GOOD, mistakes_of, parse
from tests.protocol.cluster_file.test_zookeeper import LOGIN

CONFIGS = "configs: { unclean"
PLAIN = GOOD.partition(CONFIGS)[0]
TLS = """
zookeeper: {connect: "z1:2182"}
configs:
  zookeeper.ssl.client.enable: true
  zookeeper.clientCnxnSocket: org.apache.zookeeper.ClientCnxnSocketNetty
  zookeeper.ssl.truststore.location: ca.pem
"""


def test_half_a_login_is_refused() -> None:
    (told,) = mistakes_of(f"{GOOD}\n{LOGIN.replace(', password: secret', '')}\n")
    assert told == "zookeeper: username and password go together; set both, or none"


def test_stores_for_tls_are_files_beside_the_cluster_file() -> None:
    spec = parse(PLAIN + TLS)
    files = {each.configs["zookeeper.ssl.truststore.location"] for each in spec.brokers}
    assert files == {"/lab/ca.pem"}


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        ('zookeeper: {connect: "z1:2182"}', "", "configs.zookeeper.ssl.client.enable: is for a"),
        (
            "enable: true",
            "enable: false",
            "configs.zookeeper.ssl.truststore.location: has no effect without",
        ),
        ("Netty", "NIO", "configs.zookeeper.ssl.client.enable: needs zookeeper.clientCnxnSocket"),
        ("location: ca.pem", "location: ca.pem\n  zookeeper.ssl.protocol: SSLv3", "SSLv3"),
        ('2182"}', '2182", set_acl: true}', "zookeeper.set_acl: needs zookeeper.username and"),
    ],
)
def test_keys_for_tls_that_do_not_go_together_are_told_once(
    old: str, new: str, mistake: str
) -> None:
    (told,) = mistakes_of(PLAIN + TLS.replace(old, new))
    assert mistake in told


def test_who_shows_a_certificate_may_keep_others_from_what_it_makes() -> None:
    closed = TLS.replace('2182"}', '2182", set_acl: true}')
    own = "  zookeeper.ssl.keystore.location: own.pem\n"
    spec = parse(PLAIN + closed + own)
    assert spec.zookeeper is not None
    assert spec.zookeeper.set_acl


def test_a_zookeeper_that_is_started_beside_speaks_no_tls() -> None:
    (told,) = mistakes_of(ALIKE.partition(CONFIGS)[0] + BESIDE + TLS.partition("}\n")[2])
    assert told.startswith("configs.zookeeper.ssl.client.enable: the ZooKeeper `beside` speaks no")
