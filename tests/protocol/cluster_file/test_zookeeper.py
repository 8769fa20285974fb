"""Where ZooKeeper is, and who logs in there."""

from __future__ import annotations

from protocol.cluster_file.document import ZookeeperDocument
from protocol.cluster_file.dump import dump_cluster_spec
from protocol.cluster_file.zookeeper import ZookeeperSpec, zookeeper_spec
from tests.protocol.cluster_file.test_spec import GOOD, parse

LOGIN = 'zookeeper: {connect: "z1:2181/k", set_acl: true, username: ann, password: secret}'


def test_without_an_address_there_is_none() -> None:
    assert zookeeper_spec(ZookeeperDocument()) is None


def test_a_login_and_its_acls_are_read_and_dumped() -> None:
    spec = parse(f"{GOOD}\n{LOGIN}\n")
    assert spec.zookeeper == ZookeeperSpec(
        connect="z1:2181/k",
        session_timeout_ms=18_000,
        set_acl=True,
        username="ann",
        password="secret",
    )
    assert parse(dump_cluster_spec(spec)).zookeeper == spec.zookeeper
