"""The cluster of the demo beside Apache Kafka; ``make mixed-demo`` runs it."""

from __future__ import annotations

from pathlib import Path

from jbodlab.demo.mixed import mixed_spec
from jbodlab.processes.lab_spec import write_lab_spec
from protocol.cluster_file.dump import dump_cluster_spec
from protocol.cluster_file.spec import load_cluster_spec, parse_cluster_spec


def test_one_broker_stays_and_two_of_apache_kafka_come_beside_it(tmp_path: Path) -> None:
    spec = mixed_spec(load_cluster_spec(write_lab_spec(tmp_path)), tmp_path / "own")
    assert spec.beside is not None
    assert [each.id for each in spec.brokers] == [1]
    assert [each.id for each in spec.beside.brokers] == [2, 3]
    assert not spec.stands_for_election
    assert all(
        log_dir.path.startswith(f"{tmp_path}/own/")
        for broker in spec.all_brokers
        for log_dir in broker.log_dirs
    )
    assert parse_cluster_spec(dump_cluster_spec(spec), base_dir=tmp_path, source="x") == spec
