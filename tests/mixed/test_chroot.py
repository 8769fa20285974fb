"""Clusters below a chroot of ZooKeeper, which the first of their brokers makes."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.elsewhere import cluster_behind
from jbodlab.processes.free_ports import free_ports
from tests.jbodlab.command_line import jbodlab
from tests.mixed.apache_nodes import LOG_DIRS, ApacheNodes
from tests.mixed.election import elections
from tests.mixed.mixed_lab import MixedLab

pytestmark = [
    pytest.mark.integration,
    pytest.mark.sampled_among("clusters beside Apache Kafka", kept=0),
]
CHROOT: Final = "/clusters/below"
"""Of two parts: neither is there before."""
OWN: Final = (4, 5)
NEIGHBOUR: Final = 1
CLUSTER_ID: Final = "belowAchrootAAAAAAAAAA"
CONFIGS: Final = {"zookeeper.session.timeout.ms": "6000", "offsets.topic.replication.factor": "1"}


@pytest.fixture(scope="module")
def alone(lab: MixedLab) -> Generator[MixedLab]:
    """Two brokers of jbodlab, one of which leads, by ``jbodlab up``; nobody of Apache Kafka yet."""
    connect = f"{lab.nodes.zookeeper_connect}{CHROOT}"
    with ApacheNodes(lab.nodes.folder / "below", (*OWN, NEIGHBOUR), connect) as nodes:
        file = _cluster_file(nodes)
        up = jbodlab("up", "--config", str(file))
        try:
            assert up.exit_code == 0, up.stderr
            with ClusterAdmin(cluster_behind(nodes.bootstrap)) as admin:
                yield MixedLab(nodes, admin)
        finally:
            assert jbodlab("down", "--config", str(file)).exit_code == 0


def test_up_makes_the_chroot_and_a_cluster_that_apache_kafka_joins_and_leads(
    lab: MixedLab, alone: MixedLab
) -> None:
    alone.create("below", OWN)
    with alone.checked_load("below", 1) as load:
        alone.wait_for_records(load, 100)
    with elections(alone.nodes) as below, elections(lab.nodes) as above:
        assert below.controller_id() == OWN[0]
        assert sorted(below.children("/brokers/ids")) == ["4", "5"]
        assert "below" not in above.children("/brokers/topics")

    alone.nodes.start_brokers({NEIGHBOUR: CONFIGS})
    alone.wait_until(
        lambda: NEIGHBOUR in alone.admin.any_view([]).broker_ids, "Apache Kafka's broker is known"
    )
    with ClusterAdmin(cluster_behind(alone.nodes.bootstrap)) as admin, elections(alone.nodes) as by:
        both = MixedLab(alone.nodes, admin)
        both.create("both-below", (NEIGHBOUR, OWN[0]), (OWN[1], NEIGHBOUR))
        with both.checked_load("both-below", 2) as load:
            assert by.elect(NEIGHBOUR.__eq__) == NEIGHBOUR
            both.wait_for_records(load, 100)
            both.reassign("both-below", (OWN[1], OWN[0]))
            both.wait_for_records(load, 100)


def _cluster_file(nodes: ApacheNodes) -> Path:
    controller_port, *control_ports = free_ports(1 + len(OWN))
    brokers = [
        {
            "id": each,
            "port": nodes.ports[each],
            "control_port": control_port,
            "log_dirs": [{"path": str(nodes.log_dir(each, name))} for name in LOG_DIRS],
        }
        for each, control_port in zip(OWN, control_ports, strict=True)
    ]
    document: dict[str, Any] = {
        "cluster_id": CLUSTER_ID,
        "zookeeper": {"connect": nodes.zookeeper_connect, "session_timeout_ms": 6000},
        "controller": {"port": controller_port, "id": OWN[0]},
        "brokers": brokers,
    }
    file = nodes.folder / "cluster.yaml"
    file.write_text(json.dumps(document))
    return file
