"""ZooKeeper that asks for a login; brokers of both kinds keep others from writing there."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import pytest
from kazoo.client import KazooClient  # pyright: ignore[reportMissingTypeStubs] - it has none
from kazoo.exceptions import NoAuthError  # pyright: ignore[reportMissingTypeStubs]

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.elsewhere import cluster_behind
from jbodlab.errors import LabError
from jbodlab.processes.cluster import Cluster
from jbodlab.processes.free_ports import free_ports
from protocol.zookeeper import paths
from tests.deadlines import DEADLINE_S
from tests.mixed.apache_nodes import LOG_DIRS, ApacheNodes
from tests.mixed.election import elections
from tests.mixed.mixed_lab import MixedLab

pytestmark = [
    pytest.mark.integration,
    pytest.mark.sampled_among("clusters beside Apache Kafka", kept=0),
]
APACHE, OWN = 1, 4
USER, PASSWORD = "kafka", "kafka-secret"
JAAS: Final = f"""\
Server {{
  org.apache.zookeeper.server.auth.DigestLoginModule required user_{USER}="{PASSWORD}";
}};
Client {{
  org.apache.zookeeper.server.auth.DigestLoginModule required
  username="{USER}" password="{PASSWORD}";
}};
"""
LOGIN: Final[dict[str, Any]] = {"set_acl": True, "username": USER, "password": PASSWORD}
CONFIGS: Final = {
    "zookeeper.set.acl": "true",
    "zookeeper.session.timeout.ms": "6000",
    "offsets.topic.replication.factor": "1",
}


class Secured(NamedTuple):
    lab: MixedLab
    own: Cluster


@pytest.fixture(scope="module")
def secured(lab: MixedLab) -> Generator[Secured]:
    """A cluster of one broker of each kind; jbodlab's stands for election."""
    with ApacheNodes(lab.nodes.folder / "secured", (APACHE, OWN)) as nodes:
        nodes.start_zookeeper(JAAS)
        login = {"mechanism": "DIGEST-MD5", "username": USER, "password": PASSWORD}
        nodes.kazoo = lambda: {"sasl_options": login}
        nodes.start_brokers({APACHE: CONFIGS})
        with elections(nodes) as looking:
            own = _own_cluster(nodes, looking.cluster_id(), LOGIN)
        try:
            own.start()
            nodes.wait_until(
                lambda: len(cluster_behind(nodes.bootstrap).brokers) == 2, "both brokers are known"
            )
            with ClusterAdmin(cluster_behind(nodes.bootstrap)) as admin:
                yield Secured(MixedLab(nodes, admin), own)
        finally:
            own.stop()


@contextmanager
def stranger(nodes: ApacheNodes) -> Generator[Any]:
    """A client of ZooKeeper that does not log in."""
    zookeeper = KazooClient(nodes.zookeeper_connect)
    zookeeper.start(DEADLINE_S)
    try:
        yield zookeeper
    finally:
        zookeeper.stop()
        zookeeper.close()


def test_a_topic_is_as_closed_whichever_controller_made_it(secured: Secured) -> None:
    lab = secured.lab
    with elections(lab.nodes) as looking:
        looking.elect(APACHE.__eq__)
        lab.create("by-apache", (APACHE, OWN), (OWN, APACHE))
        looking.elect(OWN.__eq__)
        lab.create("by-jbodlab", (APACHE, OWN), (OWN, APACHE))
    with lab.checked_load("by-jbodlab", 2) as load, stranger(lab.nodes) as zookeeper:
        lab.wait_for_records(load, 100)
        theirs, ours = (
            access_below(zookeeper, f"/brokers/topics/{name}")
            for name in ("by-apache", "by-jbodlab")
        )
        assert len(theirs) == 6  # The topic, its partitions, two of them, a state each.
        assert ours == theirs
        with pytest.raises(NoAuthError):
            zookeeper.create("/brokers/topics/by-a-stranger", b"{}")
        with pytest.raises(NoAuthError):
            zookeeper.get_children("/config/users")


def test_a_cluster_without_apache_kafka_is_as_closed_as_one_that_it_made(secured: Secured) -> None:
    nodes = secured.lab.nodes
    own = _own_cluster(nodes, "anotherClusterAAAAAAAA", LOGIN, chroot="/another/one")
    try:
        own.start()
        with elections(nodes) as logged_in:
            theirs = access_below(logged_in.zookeeper, "")
            ours = access_below(logged_in.zookeeper, "/another/one")
            above = access_below(logged_in.zookeeper, "/another", deep=False)
    finally:
        own.stop()
    made = [path for path in paths.MADE_BY_BROKERS if path != paths.BROKER_SEQUENCE]
    kept = [*made, "/config", "/cluster/id", "/controller", "/controller_epoch", "/feature"]
    assert {path: ours[path] for path in kept} == {path: theirs[path] for path in kept}
    assert above == {"": theirs["/brokers"]}


def test_a_broker_that_does_not_log_in_is_told_so(secured: Secured) -> None:
    nodes = secured.lab.nodes
    own = _own_cluster(nodes, "anotherClusterAAAAAAAA", {}, chroot="/brokers")
    with pytest.raises(LabError, match=r"set zookeeper\.username and password"):
        own.start()


def access_below(zookeeper: Any, path: str, *, deep: bool = True) -> dict[str, list[Any]]:
    """Return who may do what with a znode, and with all that is below it, by relative path."""
    acls, _ = zookeeper.get_acls(path or "/")
    found = {"": sorted((each.id.scheme, each.id.id, each.perms) for each in acls)}
    for name in zookeeper.get_children(path or "/") if deep else ():
        for below, access in access_below(zookeeper, f"{path}/{name}").items():
            found[f"/{name}{below}"] = access
    return found


def _own_cluster(
    nodes: ApacheNodes, cluster_id: str, login: dict[str, Any], chroot: str = ""
) -> Cluster:
    controller_port, control_port, port = free_ports(3)
    document: dict[str, Any] = {
        "cluster_id": cluster_id,
        "zookeeper": {
            "connect": f"{nodes.zookeeper_connect}{chroot}",
            "session_timeout_ms": 6000,
            **login,
        },
        "controller": {"port": controller_port, "id": OWN},
        "brokers": [
            {
                "id": OWN,
                "port": port if chroot else nodes.ports[OWN],
                "control_port": control_port,
                "log_dirs": [
                    {"path": str(nodes.log_dir(OWN, f"{name}{chroot}"))} for name in LOG_DIRS
                ],
            }
        ],
    }
    file = nodes.folder / f"cluster{chroot.replace('/', '-')}.yaml"
    file.write_text(json.dumps(document))
    return Cluster(file)
