"""A broker of jbodlab beside one that is not upgraded yet, whose protocol is an older one."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any, Final

import pytest

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.elsewhere import cluster_behind
from jbodlab.processes.cluster import Cluster
from jbodlab.processes.free_ports import free_ports
from tests.mixed.apache_nodes import LOG_DIRS, ApacheNodes
from tests.mixed.election import elections
from tests.mixed.mixed_lab import MixedLab

pytestmark = [
    pytest.mark.integration,
    pytest.mark.mixed_all,
    pytest.mark.sampled_among("clusters beside Apache Kafka", kept=0),
]
NEW, OLD, OWN = 1, 2, 4
CONFIGS: Final = {
    "zookeeper.session.timeout.ms": "6000",
    "offsets.topic.replication.factor": "1",
    "replica.lag.time.max.ms": "5000",
}
OLDER: Final = {**CONFIGS, "inter.broker.protocol.version": "0.11.0"}
"""Such a broker writes Isrs into ZooKeeper itself, and cannot tell of one log dir that failed."""
HALTED: Final = 1


@pytest.fixture(scope="module")
def older(lab: MixedLab) -> Generator[MixedLab]:
    """A cluster whose controller is the broker that is upgraded."""
    connect = f"{lab.nodes.zookeeper_connect}/older"
    with ApacheNodes(lab.nodes.folder / "older", (NEW, OLD, OWN), connect) as nodes:
        nodes.start_brokers({NEW: CONFIGS})
        nodes.start_brokers({OLD: OLDER})
        controller_port, control_port = free_ports(2)
        with elections(nodes) as looking:
            cluster_id = looking.cluster_id()
            assert looking.controller_id() == NEW
        document: dict[str, Any] = {
            "cluster_id": cluster_id,
            "zookeeper": {"connect": connect, "session_timeout_ms": 6000},
            "controller": {"port": controller_port},
            "brokers": [
                {
                    "id": OWN,
                    "port": nodes.ports[OWN],
                    "control_port": control_port,
                    "log_dirs": [{"path": str(nodes.log_dir(OWN, each))} for each in LOG_DIRS],
                }
            ],
        }
        file = nodes.folder / "cluster.yaml"
        file.write_text(json.dumps(document))
        cluster = Cluster(file)
        try:
            cluster.start()
            nodes.wait_until(
                lambda: len(cluster_behind(nodes.bootstrap).brokers) == 3, "all brokers are known"
            )
            with ClusterAdmin(cluster_behind(nodes.bootstrap)) as admin:
                yield MixedLab(nodes, admin)
        finally:
            cluster.stop()


@pytest.mark.scenario(207)
def test_reassignments_complete_while_one_broker_is_not_upgraded(older: MixedLab) -> None:
    older.create("upgraded", (NEW, OLD))

    with older.checked_load("upgraded", 1) as load:
        older.reassign("upgraded", (OWN, OLD))
        older.wait_until(lambda: older.partition("upgraded").leader == OWN, "jbodlab leads")
        older.wait_for_isr("upgraded", 2)
        older.wait_for_records(load, 100)
        older.reassign("upgraded", (OLD, NEW))
        older.wait_until(lambda: older.partition("upgraded").leader == OLD, "the old one leads")
        older.wait_for_isr("upgraded", 2)
        older.wait_for_records(load, 100)
        older.reassign("upgraded", (NEW, OWN))
        older.wait_for_isr("upgraded", 2)
        older.wait_for_records(load, 100)


@pytest.mark.scenario(51)
def test_one_that_cannot_tell_of_a_failed_log_dir_halts_and_jbodlab_leads(older: MixedLab) -> None:
    older.create("halted", (OLD, OWN, NEW))
    name = older.log_dir_of(OLD, "halted")

    with older.checked_load("halted", 1) as load:
        older.nodes.break_log_dir(OLD, name)
        assert older.nodes.exit_code(OLD) == HALTED
        assert older.wait_for_leader_other_than(OLD, "halted") == OWN
        older.wait_for_records(load, 100)
        older.nodes.repair_log_dir(OLD, name)
        older.nodes.start_brokers({OLD: OLDER})
        older.wait_for_isr("halted", 3)
